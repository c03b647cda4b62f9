/** Notes, time and memory. */
import type { Submission } from "../api/types";

export function Facts({ record: { notes, resources, device } }: { record: Submission }) {
  return (
    <>
      {notes.map(({ id, text }) => (
        <p key={id} class="note">
          <strong>Note.</strong> {text}
        </p>
      ))}
      {resources && (
        <dl class="facts-line">
          <Fact name="Time" value={`${resources.wall_ms} ms`} />
          <Fact name="CPU" value={`${resources.cpu_ms} ms`} />
          <Fact name="Memory" value={`${Math.round(resources.peak_memory_bytes / 2 ** 20)} MiB`} />
          <Fact name="Device" value={device} />
        </dl>
      )}
    </>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
