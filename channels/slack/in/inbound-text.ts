/** The platform's text -> what people see. Pure. https://docs.slack.dev/messaging/formatting-message-text */

/** `<…>`: a mention, a link or a word to a group. A typed `<` is an entity: brackets are the platform's. */
const TOKEN = /<([^<>]*)>/g;

/** Mentions as `@name` or `@U…`, links as `label (address)`, entities as characters. */
export function plainText(text: string): string {
  let out = '';
  let from = 0;
  for (const match of text.matchAll(TOKEN)) {
    out += unescapeEntities(text.slice(from, match.index)) + tokenText(match[1] ?? '');
    from = match.index + match[0].length;
  }
  return out + unescapeEntities(text.slice(from));
}

/** The text without the mention of a user, and whether there was one. */
export function stripMention(text: string, userId: string): { readonly text: string; readonly found: boolean } {
  let found = false;
  const stripped = text.replace(TOKEN, (token, inner: string) => {
    if (inner.split('|', 1)[0] !== `@${userId}`) return token;
    found = true;
    return STRIPPED;
  });
  if (!found) return { text, found };
  // `hey @bot, do it` is meant as `hey do it`.
  return { text: stripped.replace(LEADING, '').replace(INNER, '').trim(), found };
}

/** Stands where a mention was: a character without a meaning, which is dropped if a person sends it. */
const STRIPPED = '\uE000';
const LEADING = new RegExp(`^${STRIPPED}[,:]?[ \\t]*`, 'gm');
const INNER = new RegExp(`[ \\t]?${STRIPPED}[,:]?`, 'g');

function tokenText(inner: string): string {
  const bar = inner.indexOf('|');
  const target = bar === -1 ? inner : inner.slice(0, bar);
  const label = bar === -1 ? '' : unescapeEntities(inner.slice(bar + 1));
  switch (target[0]) {
    case '@':
      return `@${(label || target.slice(1)).replace(/^@/, '')}`;
    case '#':
      return `#${(label || target.slice(1)).replace(/^#/, '')}`;
    case '!':
      return specialText(target.slice(1), label);
    default:
      return linkText(unescapeEntities(target), label);
  }
}

/** `!here`, `!subteam^S1|@team`, `!date^1392734382^…|fallback`. */
function specialText(command: string, label: string): string {
  if (label !== '') return label;
  const [name = '', id] = command.split('^');
  return name === 'subteam' ? `@${id ?? 'group'}` : `@${name}`;
}

/** The address is shown unless the label says it: people see only the label, and it may lie. */
function linkText(url: string, label: string): string {
  if (label === '') return url;
  const bare = url.replace(/^(?:mailto:|tel:|https?:\/\/)/i, '').replace(/\/$/, '');
  return label === url || label === bare ? (label === bare && /^https?:/i.test(url) ? url : label) : `${label} (${url})`;
}

function unescapeEntities(text: string): string {
  return text.replace(/&(lt|gt|amp);/g, (_entity, name: 'lt' | 'gt' | 'amp') => ENTITIES[name]);
}

const ENTITIES = { lt: '<', gt: '>', amp: '&' } as const;
