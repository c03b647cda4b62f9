/** What a public case is called with. */
import { Scroller } from "../shell/scroller";
import { asTensor, parts, shapeText, shown, type Element, type Tensor } from "./tensor";

export function Inputs({ inputs }: { inputs: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(inputs);
  if (entries.length === 0) return null;
  return (
    <details class="inputs">
      <summary>Inputs</summary>
      {entries.map(([name, value]) => (
        <Input key={name} name={name} value={value} />
      ))}
    </details>
  );
}

/** A tensor, a plain value, or (of a module) a group of them. */
function Input({ name, value }: { name: string; value: unknown }) {
  const tensor = asTensor(value);
  if (tensor) return <TensorInput name={name} tensor={tensor} />;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return (
      <>
        {Object.entries(value).map(([inner, part]) => (
          <Input key={inner} name={`${name}: ${inner}`} value={part} />
        ))}
      </>
    );
  }
  return (
    <p class="input">
      <code>
        {name} = {value === null ? "None" : typeof value === "boolean" ? (value ? "True" : "False") : shown(value as Element, 7)}
      </code>
    </p>
  );
}

function TensorInput({ name, tensor }: { name: string; tensor: Tensor }) {
  return (
    <figure class="input">
      <figcaption>
        <code>{name}</code> <span class="about">{`${tensor.dtype} ${shapeText(tensor.shape)}`}</span>
      </figcaption>
      {parts(tensor).map((part) => (
        <Scroller key={part.index.join()}>
          <table class="heat">
            <tbody>
              {part.rows.map((row, r) => (
                <tr key={r}>
                  {row.map((element, c) => (
                    <td key={c}>{shown(element, 4)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      ))}
    </figure>
  );
}
