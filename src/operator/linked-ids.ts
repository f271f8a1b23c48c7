/** Which ids are one person, ready for those who cannot wait for the journal. */
import { principalOf } from '../core/ids.ts';
import type { People } from '../core/people.ts';

/** As of the last `refresh`, which a commit that links or unlinks is followed by. */
export class LinkedIds {
  readonly #people: Pick<People, 'links'>;
  #ids: ReadonlyMap<string, readonly string[]> = new Map();
  #names: readonly (readonly [name: string, principal: string])[] = [];

  constructor(people: Pick<People, 'links'>) {
    this.#people = people;
  }

  /** Rejects as the journal does; what was known stays. */
  async refresh(): Promise<void> {
    const links = await this.#people.links();
    this.#names = links.map((one) => [folded(one.name), principalOf(one)]);
    const byPerson = Map.groupBy(links, ({ id }) => id);
    this.#ids = new Map(
      [...byPerson.values()].flatMap((all) => all.map((one) => [principalOf(one), all.map(principalOf)] as const)),
    );
  }

  /** All ids of the person that this one is of, in a fixed order; of most people it is the only one. */
  readonly of = (principal: string): readonly string[] => this.#ids.get(principal) ?? [principal];

  /** The ids that had this name, in any case, when they were linked. */
  as(name: string): readonly string[] {
    const wanted = folded(name);
    return this.#names.flatMap(([own, principal]) => (own === wanted ? [principal] : []));
  }
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
