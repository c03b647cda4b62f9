/** The names that the page uses for what the service's own OpenAPI describes. */
import type { components } from "./schema";

type Schemas = components["schemas"];
type Body = Schemas["NewSubmissionBody"];

export type ProblemSummary = Schemas["ProblemSummary"];
export type Problem = Schemas["ShownProblem"];
export type Entry = Schemas["Entry"];
export type Parameter = Schemas["Parameter"];
export type Submission = Schemas["Record"];
export type SubmissionPage = Schemas["Page"];
/** What has a default may be left out. */
export type NewSubmission = Pick<Body, "problem" | "source"> & Partial<Body>;
export type Mode = Submission["mode"];
export type Case = Schemas["PublicCase"] | Schemas["HiddenCase"];
export type Detail = Schemas["Detail"];
export type Mistake = Schemas["Mistake"];
export type Fault = Schemas["Fault"];
export type ProblemDetails = Schemas["ProblemDetails"];
export type Difficulty = ProblemSummary["difficulty"];
