/** The language of a problem's texts; the browser remembers what was chosen. */
import { useState } from "preact/hooks";
import type { Problem } from "../api/types";
import { recall, remember } from "../shell/storage";

/** What was chosen before, else the first of the browser's languages that there is, else the problem's own. */
export function useLanguage(problem: Problem): [string, (language: string) => void] {
  const preferred = [recall<string>("language"), ...navigator.languages.map((name) => name.split("-")[0])];
  const [language, setLanguage] = useState(() => preferred.find((one) => problem.languages.includes(one ?? "")) ?? problem.language);
  const choose = (chosen: string) => {
    setLanguage(chosen);
    remember("language", chosen);
  };
  return [language, choose];
}

interface Props {
  languages: readonly string[];
  chosen: string;
  choose: (language: string) => void;
}

export function Languages({ languages, chosen, choose }: Props) {
  if (languages.length < 2) return null;
  return (
    <div class="languages" role="group" aria-label="Language of the texts">
      {languages.map((language) => (
        <button
          key={language}
          type="button"
          lang={language}
          aria-pressed={language === chosen}
          onClick={() => choose(language)}
        >
          {nameOf(language)}
        </button>
      ))}
    </div>
  );
}

/** A language's name in itself. */
function nameOf(language: string): string {
  return new Intl.DisplayNames([language], { type: "language" }).of(language) ?? language;
}
