/** The placeholders of a message (`@_user_1`) and whose they are. */
import { list, obj } from '../../kit/json.ts';
import { label } from '../../kit/senders-words.ts';
import { stringOf } from '../wire/fields.ts';

export class MentionNames {
  /** One of the names that were looked up is the bot's. */
  found = false;
  readonly #byKey = new Map<string, { readonly name: string; readonly bot: boolean }>();

  constructor(mentions: unknown, botOpenId: string | undefined) {
    for (const mention of list(mentions).slice(0, 200)) {
      const { key, id, name } = obj(mention);
      const placeholder = stringOf(key);
      if (placeholder === '') continue;
      // An event has an object with an id of each kind, a stored message the id alone.
      const openId = stringOf(obj(id)['open_id']) || stringOf(id);
      // By id: a person may carry the bot's name (A3). "@all" is no person's id.
      this.#byKey.set(placeholder, { name: stringOf(name), bot: botOpenId !== undefined && openId === botOpenId });
    }
  }

  /**
   * In one pass, so that no name can form another placeholder. Longer keys first: `@_user_1` begins
   * `@_user_12`.
   */
  replace(text: string): string {
    return text.replace(/@_(?:user_\d+|all)(?:[ \t]|(?=\W|$))?/g, (match) => {
      const key = match.trimEnd();
      if (key === '@_all') return match.replace('@_all', '@all');
      const known = this.#byKey.get(key);
      if (!known) return match;
      if (!known.bot) return match.replace(key, `@${label(known.name)}`);
      this.found = true;
      return '';
    });
  }

  at(key: string, name: string): string {
    const known = this.#byKey.get(key);
    if (known?.bot) {
      this.found = true;
      return '';
    }
    return key === 'all' || key === '@_all' ? '@all' : `@${label(known?.name || name)}`;
  }
}
