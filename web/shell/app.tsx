/** The frame: which page is shown. Each page is loaded when it is first asked for. */
import { type ComponentType, createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Client } from "../api/client";
import { Header } from "./header";
import { Link } from "./link";
import { Notice } from "./notice";
import { route } from "./router";

const Service = createContext<Client | null>(null);

/** The service that this page belongs to. */
export function useClient(): Client {
  const client = useContext(Service);
  if (client === null) throw new Error("outside of <App>");
  return client;
}

const pages = {
  catalogue: () => import("../catalogue/catalogue").then((room) => room.Catalogue),
  problem: () => import("../problem/problem").then((room) => room.ProblemPage),
};

export function App({ client }: { client: Client }) {
  return (
    <Service.Provider value={client}>
      <Page />
    </Service.Provider>
  );
}

function Page() {
  const shown = route.value;
  if (shown.page === "problem") return <Loaded key={shown.slug} load={pages.problem} given={{ slug: shown.slug }} />;
  if (shown.page === "catalogue") return <Loaded key="catalogue" load={pages.catalogue} given={{}} />;
  return (
    <>
      <Header />
      <main class="centred">
        <h1>There is no such page</h1>
        <p>
          <Link to="">All problems</Link>
        </p>
      </main>
    </>
  );
}

interface LoadedProps<P> {
  load: () => Promise<ComponentType<P>>;
  given: P;
}

function Loaded<P extends object>({ load, given }: LoadedProps<P>) {
  const [found, setFound] = useState<{ Room: ComponentType<P> } | Error | null>(null);
  useEffect(() => {
    load().then((Room) => setFound({ Room }), setFound);
  }, [load]);
  if (found instanceof Error) return <NotLoaded />;
  if (found === null) return <Header />;
  return <found.Room {...given} />;
}

/** The service was upgraded meanwhile, or is away: only the whole page anew helps. */
function NotLoaded() {
  return (
    <>
      <Header />
      <main class="centred">
        <Notice kind="bad">
          A part of the page could not be loaded. <button type="button" onClick={() => location.reload()}>Load the page again</button>
        </Notice>
      </main>
    </>
  );
}
