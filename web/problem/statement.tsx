/** The tab Problem: the task, what a solution must do and may count on, examples, limits. */
import { textIn } from "../api/problems";
import type { Problem } from "../api/types";
import { Code } from "../editor/code";
import { Prose } from "../theory/prose";

interface Props {
  problem: Problem;
  language: string;
}

export function Statement({ problem, language }: Props) {
  const statement = textIn(problem, "statement", language);
  return (
    <>
      <p class="kicker">
        <span class={`difficulty ${problem.difficulty}`}>{problem.difficulty}</span>
        <span>{problem.tags.join(" · ")}</span>
      </p>
      <Prose text={statement.text} language={statement.language} />
      <Rules title="What your code must do" rules={problem.requirements} language={problem.language} />
      <Rules title="What you may count on" rules={problem.constraints} language={problem.language} />
      <Examples problem={problem} />
      {problem.place && (
        <section class="section">
          <h2>Where it stands</h2>
          <ol class="place">
            {problem.place.path.map((part) => (
              <li key={part}>{part}</li>
            ))}
          </ol>
          <Prose text={problem.place.text} language={problem.language} />
        </section>
      )}
      <Limits problem={problem} />
      {problem.mistakes.length > 0 && (
        <details class="section">
          <summary>{problem.mistakes.length} mistakes that this problem knows by name</summary>
          <ul>
            {problem.mistakes.map((mistake) => (
              <li key={mistake.id}>{mistake.title}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Rules({ title, rules, language }: { title: string; rules: readonly string[]; language: string }) {
  if (rules.length === 0) return null;
  return (
    <section class="section">
      <h2>{title}</h2>
      <ul>
        {rules.map((rule) => (
          <li key={rule}>
            <Prose text={rule} language={language} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Examples({ problem }: { problem: Problem }) {
  return (
    <section class="section examples">
      <h2>Examples</h2>
      {problem.examples.map((example) => (
        <article key={example.title}>
          <h3>{example.title}</h3>
          <Code text={example.call} />
          <Code text={example.result} />
          <Prose text={example.explanation} language={problem.language} />
        </article>
      ))}
    </section>
  );
}

function Limits({ problem: { limits, checks } }: { problem: Problem }) {
  return (
    <section class="section">
      <h2>Limits</h2>
      <dl class="facts">
        <dt>Time</dt>
        <dd>
          {limits.wall_s} s by the clock, {limits.cpu_s} s of CPU
        </dd>
        <dt>Memory</dt>
        <dd>{Math.round((limits.memory_bytes ?? 0) / 2 ** 20)} MiB beside torch</dd>
        <dt>Judged</dt>
        <dd>{checks.includes("gradient") ? "values and gradients" : "values"}</dd>
      </dl>
    </section>
  );
}
