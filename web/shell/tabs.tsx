/** Tabs as WAI-ARIA describes them: one stop for the Tab key, arrows within. */
import type { ComponentChildren } from "preact";
import "./tabs.css";

export interface Tab {
  id: string;
  label: string;
  badge?: string | undefined;
}

interface Props {
  label: string;
  tabs: readonly Tab[];
  chosen: string;
  choose: (id: string) => void;
  children?: ComponentChildren;
}

export function Tabs({ label, tabs, chosen, choose, children }: Props) {
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.id === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    choose(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            id={`tab-${tab.id}`}
            type="button"
            role="tab"
            aria-selected={tab.id === chosen}
            aria-controls={`panel-${tab.id}`}
            tabIndex={tab.id === chosen ? 0 : -1}
            onClick={() => choose(tab.id)}
          >
            {tab.label}
            {tab.badge === undefined ? null : <span class="badge">{tab.badge}</span>}
          </button>
        ))}
      </div>
      {children}
    </div>
  );
}

/** What belongs to the tab `id`. */
export function Panel({ id, children, lang }: { id: string; children: ComponentChildren; lang?: string }) {
  return (
    <div id={`panel-${id}`} role="tabpanel" aria-labelledby={`tab-${id}`} tabIndex={0} class="panel" lang={lang}>
      {children}
    </div>
  );
}
