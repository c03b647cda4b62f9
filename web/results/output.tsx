/** What the code printed. */
import type { Submission } from "../api/types";

/** A browser lays out so much text without a pause that is felt. */
const SHOWN = 20_000;

export function Output({ record: { stdout, stderr } }: { record: Submission }) {
  return (
    <>
      <Stream name="Printed" text={stdout} />
      <Stream name="Printed to stderr" text={stderr} />
    </>
  );
}

function Stream({ name, text }: { name: string; text: string | null }) {
  if (!text) return null;
  return (
    <article class="output">
      <h3>{name}</h3>
      <pre tabIndex={0} aria-label={name}>
        {text.slice(0, SHOWN)}
      </pre>
      {text.length > SHOWN && <p class="stale">Cut here: {text.length - SHOWN} more characters.</p>}
    </article>
  );
}
