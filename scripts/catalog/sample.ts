/** The models of `docs/models.md`, each looked up on a public page. */
import { createHash } from 'node:crypto';
import { type CatalogRow, catalogRows, DEFAULT_MODELS } from '../../src/llm/catalog/catalog.ts';
import { chooseReplacement } from '../../src/llm/catalog/replacement.ts';

const SEED = 20_261_122;
const COUNT = 40;
/** How many models of a provider may go one after the other before what is then picked counts no more. */
const DEPTH = 7;

export interface Sampled {
  readonly id: string;
  readonly row: CatalogRow;
}

/** Every default, and whatever takes its place when it is gone, and so on. */
export function pickable(now: number): readonly Sampled[] {
  return Object.entries(DEFAULT_MODELS).flatMap(([provider, first]) => {
    const rows = new Map(catalogRows(provider));
    const picked: Sampled[] = [];
    for (let model: string | undefined = first; model !== undefined && picked.length < DEPTH; ) {
      const row = rows.get(model);
      if (!row) break;
      picked.push({ id: `${provider}/${model}`, row });
      rows.delete(model);
      model = chooseReplacement(provider, model, [...rows.keys()], now);
    }
    return picked;
  });
}

/** Forty of them, by a hash of seed and name: a row more or less changes little. */
export function sample(now: number): readonly Sampled[] {
  const order = ({ id }: Sampled): string => createHash('sha256').update(`${SEED}:${id}`).digest('hex');
  const drawn = [...pickable(now)].sort((a, b) => (order(a) < order(b) ? -1 : 1)).slice(0, COUNT);
  return drawn.sort((a, b) => (a.id < b.id ? -1 : 1));
}
