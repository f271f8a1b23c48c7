/** Which model takes the place of one that its provider does not have any more. */
import { catalogRows, familyOf, versionOf } from './catalog.ts';
import { priceOf } from './price.ts';

/**
 * Of the models that the provider offers to this key: the newest of the family at no higher price, else the
 * cheapest. Only listed ones with a price, which all call tools, count. Undefined = there is none.
 */
export function chooseReplacement(provider: string, gone: string, offered: readonly string[], now: number): string | undefined {
  const limit = priceOf(provider, gone, undefined, now);
  const family = familyOf(gone).join(' ');
  const day = new Date(now).toISOString().slice(0, 10);
  const usable = catalogRows(provider).flatMap(([model, { price: stated, tools = true, ends = '9' }]) => {
    const price =
      stated && tools && model !== gone && ends > day && offered.includes(model) && priceOf(provider, model, undefined, now);
    return price ? [{ model, price, cost: price.in + price.out, version: versionOf(model) }] : [];
  });
  const likes = usable.filter(({ model, price }) => {
    return limit && familyOf(model).join(' ') === family && price.in <= limit.in && price.out <= limit.out;
  });
  // Of the same version the one that costs most is nearest to what is gone.
  const [newest] = likes.sort((a, b) => compare(b.version, a.version) || b.cost - a.cost);
  const [cheapest] = usable.sort((a, b) => a.cost - b.cost);
  return (newest ?? cheapest)?.model;
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at === -1 ? a.length - b.length : (a[at] ?? 0) - (b[at] ?? -1);
}
