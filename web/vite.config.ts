import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";

const api = process.env["GRADER_URL"] ?? "http://127.0.0.1:8000";

export default defineConfig({
  base: "./",
  // nothing inline: the Content-Security-Policy allows files of our own only
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 1000 },
  worker: { format: "es" },
  server: { proxy: { "/api": api, "/openapi.json": api } },
  plugins: [onlyWoff2(), notices()],
});

/** Every browser that knows modules knows woff2: the other formats of KaTeX's fonts would only be carried along. */
function onlyWoff2(): Plugin {
  return {
    name: "only-woff2",
    enforce: "pre",
    transform(code, id) {
      if (!id.endsWith("katex.min.css")) return null;
      return code.replaceAll(/,url\([^)]+\.(?:woff|ttf)\) format\("[a-z]+"\)/g, "");
    },
  };
}

/** Writes third-party.txt: name, version and licence text of every package that the bundle may hold. */
function notices(): Plugin {
  return {
    name: "notices",
    generateBundle() {
      const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Record<string, Locked> };
      const bundled = Object.entries(lock.packages).filter(([path, found]) => path !== "" && !found.dev);
      const source = bundled.map(([path, found]) => notice(path, found)).join(`\n${"-".repeat(80)}\n\n`);
      this.emitFile({ type: "asset", fileName: "third-party.txt", source });
    },
  };
}

interface Locked {
  version: string;
  dev?: boolean;
}

function notice(folder: string, { version }: Locked): string {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { name: string; license?: string };
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  const texts = files.filter((name) => existsSync(join(folder, name))).map((name) => readFileSync(join(folder, name), "utf8"));
  if (texts.length === 0 && about.license === undefined) throw new Error(`${folder} names no licence`);
  return [`${about.name} ${version}`, `Licence: ${about.license ?? "see below"}`, "", ...texts].join("\n");
}
