/** What could not be had, why, and what to do about it. */
import { Refused } from "../api/client";
import { KeyForm } from "./key-form";
import { Notice } from "./notice";

interface Props {
  what: string;
  error: unknown;
  /** How to try again, where that is not what the learner does anyway. */
  again?: () => void;
}

export function Failure({ what, error, again }: Props) {
  if (error instanceof Refused && error.status === 401) return <KeyForm why={error.detail} />;
  const why = error instanceof Refused ? error.detail : "no connection to the service";
  return (
    <Notice kind="bad">
      {what}: {why}.{" "}
      {again && (
        <button type="button" class="plain" onClick={again}>
          Try again
        </button>
      )}
    </Notice>
  );
}
