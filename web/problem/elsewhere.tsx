/** Another tab changed the same draft: where both were at the same text this one follows, else the learner chooses. */
import { useEffect, useState } from "preact/hooks";
import { Notice } from "../shell/notice";
import type { Draft } from "./draft";

interface Props {
  draft: Draft;
  text: string;
  take: (text: string) => void;
}

export function Elsewhere({ draft, text, take }: Props) {
  const [theirs, setTheirs] = useState<string | null>(null);
  useEffect(
    () => draft.whenChangedElsewhere((now, before) => (text === before ? take(now) : setTheirs(now))),
    [draft, text, take],
  );
  if (theirs === null || theirs === text) return null;
  const takeTheirs = () => {
    take(theirs);
    setTheirs(null);
  };
  const keepMine = () => {
    draft.save(text);
    setTheirs(null);
  };
  return (
    <Notice kind="warn">
      This code was changed in another tab.{" "}
      <button type="button" class="plain" onClick={takeTheirs}>
        Take that one
      </button>{" "}
      <button type="button" class="plain" onClick={keepMine}>
        Keep this one
      </button>
    </Notice>
  );
}
