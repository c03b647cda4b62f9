/** The tab Hints: one at a time, each when it is asked for. */
import { useEffect, useState } from "preact/hooks";
import { hint } from "../api/problems";
import type { Problem } from "../api/types";
import { useClient } from "../shell/app";
import { Failure } from "../shell/failure";
import { recall, remember } from "../shell/storage";
import { Prose } from "../theory/prose";

export function Hints({ problem }: { problem: Problem }) {
  const client = useClient();
  const name = `hints:${problem.slug}`;
  const [seen, setSeen] = useState(() => Math.min(recall<number>(name) ?? 0, problem.hints.length));
  const [texts, setTexts] = useState<readonly string[]>([]);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (texts.length >= seen || error !== null) return;
    hint(client, problem, texts.length + 1).then((text) => setTexts([...texts, text]), setError);
  }, [client, problem, seen, texts, error]);
  const more = () => {
    setSeen(seen + 1);
    remember(name, seen + 1);
  };
  return (
    <>
      <h1 class="panel-title">Hints</h1>
      <p class="lead">
        {problem.hints.length === 0 ? "This problem has none." : "From the first push to the most telling. A wrong try brings its own."}
      </p>
      <ol class="hints" aria-live="polite">
        {texts.map((text) => (
          <li key={text} class="appear">
            <Prose text={text} language={problem.language} />
          </li>
        ))}
      </ol>
      {error !== null && <Failure what="The hint can't be shown" error={error} again={() => setError(null)} />}
      {seen < problem.hints.length && (
        <button type="button" class="button" onClick={more}>
          Show hint {seen + 1} of {problem.hints.length}
        </button>
      )}
    </>
  );
}
