import type { ReadSecret } from '../core/channel.ts';
import { unsetVariable } from '../lib/environment-name.ts';
import type { FoundModels } from './find-models.ts';

/** Every secret that the process was given so far, for the parts that keep secrets out of texts. */
export class Secrets {
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #known = new Set<string>();
  readonly #later: (() => readonly string[])[] = [];

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env;
  }

  readonly all = (): readonly string[] => [...this.#known, ...this.#later.flatMap((secrets) => secrets())];

  readonly secret: ReadSecret = (variable, shown = []) => {
    const value = this.#env[variable];
    if (!value) throw unsetVariable(variable);
    if (!shown.some((each) => each.toLowerCase() === value.toLowerCase())) this.#known.add(value);
    return value;
  };

  /** Secrets that change while the process runs. */
  readonly addLater = (secrets: () => readonly string[]): void => {
    this.#later.push(secrets);
  };

  addModels({ detected, fallbacks, named }: FoundModels): void {
    for (const { target, key } of [detected, ...fallbacks, ...named]) {
      for (const each of key ? [key, ...(key.more ?? [])] : []) this.#known.add(each.value());
      for (const part of target?.credentials?.secrets() ?? []) this.#known.add(part);
    }
  }
}
