/** What programs write in place of a text: components and embeds. */
import { type JsonObject, num, obj, objects, str } from '../../kit/json.ts';

/** https://discord.com/developers/docs/components/reference#component-object-component-types */
const BUTTON = 2;
const TEXT_DISPLAY = 10;
const MEDIA_GALLERY = 12;

/** A message nests rows and sections in a container; what lies deeper is left out. */
const MAX_DEPTH = 6;
/**
 * Characters of all embeds of a message
 * (https://discord.com/developers/docs/resources/message#embed-object-embed-limits).
 */
const MAX_CARD = 6_000;

/** The text of a message: what was typed, or what a program laid out. Previews of links are no part of it. */
export function writtenIn(message: JsonObject): string {
  const typed = str(message['content']) ?? '';
  const isProgram = obj(message['author'])['bot'] === true || str(message['webhook_id']) !== undefined;
  const cards = isProgram || typed === '' ? objects(message['embeds']).flatMap(embedLines) : [];
  const laidOut = objects(message['components']).flatMap((component) => componentLines(component, 0));
  const more = [...cards, ...laidOut]
    .filter((line) => line !== '')
    .join('\n')
    .slice(0, MAX_CARD);
  return [typed, more].filter((part) => part !== '').join('\n');
}

function componentLines(component: JsonObject, depth: number): readonly string[] {
  if (depth > MAX_DEPTH) return [];
  const type = num(component['type']);
  if (type === TEXT_DISPLAY) return [str(component['content']) ?? ''];
  if (type === BUTTON) return label('button', component['label']);
  if (type === MEDIA_GALLERY) return objects(component['items']).flatMap((item) => label('picture', item['description']));
  const accessory = component['accessory'] === undefined ? [] : [obj(component['accessory'])];
  return [...objects(component['components']), ...accessory].flatMap((inner) => componentLines(inner, depth + 1));
}

function embedLines(embed: JsonObject): readonly string[] {
  if ((str(embed['type']) ?? 'rich') !== 'rich') return [];
  const fields = objects(embed['fields']).map(({ name, value }) => `${str(name) ?? ''}: ${str(value) ?? ''}`);
  const texts = [obj(embed['author'])['name'], embed['title'], embed['description']].map((text) => str(text) ?? '');
  return [...texts, ...fields, str(obj(embed['footer'])['text']) ?? ''];
}

function label(kind: string, words: unknown): readonly string[] {
  const text = str(words);
  return text ? [`(${kind}: ${text})`] : [];
}
