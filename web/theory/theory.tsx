/** The tab Theory: the background, questions for oneself, and where it all comes from. */
import { textIn } from "../api/problems";
import type { Problem } from "../api/types";
import { Prose } from "./prose";

interface Props {
  problem: Problem;
  language: string;
}

export function Theory({ problem, language }: Props) {
  const theory = textIn(problem, "theory", language);
  return (
    <>
      <Prose text={theory.text} language={theory.language} />
      {problem.self_check.length > 0 && (
        <section class="section">
          <h2>Check yourself</h2>
          {problem.self_check.map(({ question, answer }) => (
            <details key={question} class="question">
              <summary>
                <Prose text={question} language={problem.language} />
              </summary>
              <Prose text={answer} language={problem.language} />
            </details>
          ))}
        </section>
      )}
      {problem.sources.length > 0 && (
        <section class="section">
          <h2>Sources</h2>
          <ul>
            {problem.sources.map((source) => (
              <li key={source.title}>
                <Source {...source} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Source({ title, url, file, lines, revision, supports }: Problem["sources"][number]) {
  const where = [file, lines && `lines ${lines}`, revision && `at ${revision}`].filter(Boolean).join(", ");
  return (
    <>
      {url ? (
        <a href={url} target="_blank" rel="noreferrer">
          {title}
        </a>
      ) : (
        title
      )}
      {where && <span class="where"> ({where})</span>}
      <div class="where">{supports}</div>
    </>
  );
}
