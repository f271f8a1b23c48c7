/**
 * Card entities: https://open.feishu.cn/document/cardkit-v1/card/create and its siblings (settings, update,
 * card-element/content), and https://open.feishu.cn/document/feishu-cards/card-json-v2-structure.
 */
import { randomInt } from 'node:crypto';
import { ApiError } from './posts.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Card {
  readonly id: string;
  readonly createdAt: number;
  json: Record<string, unknown>;
  /** Epoch ms at which it was last switched on; undefined while it is off. */
  streamingSince: number | undefined;
  sequence: number;
  readonly uuids: Set<string>;
  /** Epoch ms of the last calls. */
  calls: number[];
  /** The message that shows it. A card is sent once. */
  messageId?: string;
}

const VALID_MS = 14 * 86_400_000;
const STREAMING_MS = 10 * 60_000;
const CALLS_A_SECOND = 10;
const CARD_BYTES = 30_720;
const CONTENT_CHARS = 100_000;
const MAX_INT32 = 2_147_483_647;
/** "In JSON 2.0 an attribute that is not supported is an error." */
const TOP = ['schema', 'config', 'card_link', 'header', 'body'];
const CONFIG =
  'streaming_mode streaming_config summary locales enable_forward update_multi width_mode use_custom_translation enable_forward_interaction style'.split(
    ' ',
  );
const ELEMENTS: Readonly<Record<string, readonly string[]>> = {
  markdown: ['content', 'text_align', 'text_size', 'icon'],
  div: ['text', 'icon', 'width'],
  hr: [],
  button: ['type', 'size', 'width', 'text', 'icon', 'hover_tips', 'disabled', 'disabled_tips', 'confirm', 'behaviors'],
  table: ['page_size', 'row_height', 'header_style', 'columns', 'rows', 'freeze_first_column'],
};

export class CardEntities {
  readonly #cards = new Map<string, Card>();
  /** A card shows something else now. */
  readonly #changed: (messageId: string, json: Record<string, unknown>) => void;

  /** Epoch ms. */
  readonly #now: () => number;

  constructor(now: () => number, changed: (messageId: string, json: Record<string, unknown>) => void) {
    this.#now = now;
    this.#changed = changed;
  }

  /** Every card that was made, sent or not. */
  get made(): number {
    return this.#cards.size;
  }

  forget(): void {
    this.#cards.clear();
  }

  /** Whether the card of a message is in streaming mode. */
  isStreaming(messageId: string): boolean {
    const card = [...this.#cards.values()].find((one) => one.messageId === messageId);
    return card !== undefined && isOpen(card, this.#now());
  }

  /** As after ten minutes: every card leaves streaming mode. */
  closeAll(): void {
    for (const card of this.#cards.values()) card.streamingSince = undefined;
  }

  /** A call below `/open-apis/cardkit/v1/cards`; the answer's `data`. Throws `ApiError`. */
  handle(method: string, path: string, data: Fields): object {
    if (method === 'POST' && path === '') return { card_id: this.#create(data) };
    if (method === 'POST' && path === '/id_convert') return { card_id: this.#convert(data) };
    const [, id = '', rest = ''] = /^\/([^/]+)(\/.*)?$/.exec(path) ?? [];
    const card = this.#open(id);
    const now = this.#now();
    const element = /^\/elements\/([^/]+)\/content$/.exec(rest)?.[1];
    if (method === 'PUT' && element !== undefined) write(inOrder(card, data, now), element, data['content'], now);
    else if (method === 'PATCH' && rest === '/settings') set(inOrder(card, data, now), data['settings'], now);
    else if (method === 'PUT' && rest === '') replace(inOrder(card, data, now), data['card'], now);
    else throw new ApiError(404, 'no such route', 404);
    if (card.messageId !== undefined) this.#changed(card.messageId, card.json);
    return {};
  }

  /** The message's own content: `{"type":"card","data":{"card_id":…}}`. */
  send(id: string, messageId: string): Record<string, unknown> {
    const card = this.#open(id);
    // The number of this error is not documented.
    if (card.messageId !== undefined) throw new ApiError(230099, 'Failed to create card content: the card was sent before');
    card.messageId = messageId;
    return card.json;
  }

  #create({ type, data }: Fields): string {
    if (type !== 'card_json') throw new ApiError(10002, 'invalid type');
    const id = `7${String(randomInt(1e9)).padStart(9, '0')}${String(randomInt(1e9)).padStart(9, '0')}`;
    const json = readCard(data);
    this.#cards.set(id, {
      ...{ id, json, createdAt: this.#now(), sequence: 0, uuids: new Set<string>(), calls: [] },
      streamingSince: streamingIn(json) ? this.#now() : undefined,
    });
    return id;
  }

  #convert({ message_id }: Fields): string {
    const card = [...this.#cards.values()].find((one) => one.messageId === message_id);
    // The number of this error is not documented.
    if (!card) throw new ApiError(300308, 'the message shows no card entity');
    return card.id;
  }

  #open(id: string): Card {
    const card = this.#cards.get(id);
    if (!card) throw new ApiError(200740, 'The card entity does not exist');
    if (this.#now() - card.createdAt > VALID_MS) throw new ApiError(200750, 'The card entity has expired');
    return card;
  }
}

function isOpen({ streamingSince }: Card, now: number): boolean {
  return streamingSince !== undefined && now - streamingSince < STREAMING_MS;
}

function streamingIn(json: Fields): boolean {
  return (json['config'] as Fields | undefined)?.['streaming_mode'] === true;
}

function inOrder(card: Card, { sequence, uuid }: Fields, now: number): Card {
  if (typeof sequence !== 'number' || !Number.isInteger(sequence) || sequence < 1 || sequence > MAX_INT32) {
    throw new ApiError(10002, 'sequence is not a positive int32');
  }
  if (sequence <= card.sequence) throw new ApiError(300317, 'ErrMsg: sequence number compare failed; ');
  if (uuid !== undefined) {
    if (typeof uuid !== 'string' || uuid.length < 1 || uuid.length > 64) throw new ApiError(10002, 'invalid uuid');
    if (card.uuids.has(uuid)) throw new ApiError(200770, 'UUID conflict');
    card.uuids.add(uuid);
  }
  card.calls = [...card.calls.filter((at) => now - at < 1_000), now];
  if (card.calls.length > CALLS_A_SECOND) throw new ApiError(99991400, 'request trigger frequency limit', 429);
  card.sequence = sequence;
  return card;
}

function write(card: Card, id: string, content: unknown, now: number): void {
  if (!isOpen(card, now)) throw new ApiError(300309, 'ErrMsg: streaming mode is closed; ');
  if (typeof content !== 'string' || content === '' || content.length > CONTENT_CHARS)
    throw new ApiError(10002, 'invalid content');
  const elements = (card.json['body'] as Fields)['elements'] as Fields[];
  const index = elements.findIndex(({ element_id, tag }) => element_id === id && tag === 'markdown');
  // The number of this error is not documented.
  if (index === -1) throw new ApiError(300313, 'not find the element');
  const changed = elements.with(index, { ...elements[index], content });
  card.json = readCard(JSON.stringify({ ...card.json, body: { elements: changed } }));
}

function set(card: Card, settings: unknown, now: number): void {
  if (typeof settings !== 'string') throw new ApiError(10002, 'settings is not a string');
  const { config = {} } = JSON.parse(settings) as { config?: Fields };
  card.json = readCard(JSON.stringify({ ...card.json, config: { ...(card.json['config'] as object), ...config } }));
  if (config['streaming_mode'] !== undefined) card.streamingSince = config['streaming_mode'] === true ? now : undefined;
}

function replace(card: Card, raw: unknown, now: number): void {
  const { type, data } = (raw ?? {}) as Fields;
  if (type !== 'card_json') throw new ApiError(10002, 'invalid card type');
  card.json = readCard(data);
  card.streamingSince = streamingIn(card.json) ? (card.streamingSince ?? now) : undefined;
}

/** Throws `ApiError` for what JSON 2.0 does not take. */
function readCard(data: unknown): Record<string, unknown> {
  if (typeof data !== 'string') throw new ApiError(10002, 'the card is not a string');
  if (Buffer.byteLength(data) > CARD_BYTES) throw new ApiError(200860, 'Card content exceeds limit.');
  const json = JSON.parse(data) as Record<string, unknown>;
  const config = (json['config'] ?? {}) as Fields;
  if (json['schema'] !== '2.0') throw new ApiError(200220, 'only schema 2.0 is supported');
  onlyKnown('card', json, TOP);
  onlyKnown('config', config, CONFIG);
  if (config['update_multi'] === false) throw new ApiError(300302, 'update_multi property is false');
  const elements = (json['body'] as Fields | undefined)?.['elements'];
  if (!Array.isArray(elements) || elements.length === 0) throw new ApiError(300307, 'The card DSL is empty');
  if (elements.length > 200) throw new ApiError(300305, 'too many elements');
  const ids = new Set<unknown>();
  let tables = 0;
  for (const { tag, element_id, margin, ...rest } of elements as Fields[]) {
    const known = ELEMENTS[String(tag)];
    if (!known) throw new ApiError(200220, `unsupported tag ${tag}`);
    onlyKnown(String(tag), rest, known);
    if (tag === 'table') tables += 1;
    if (margin !== undefined && typeof margin !== 'string') throw new ApiError(200220, 'invalid margin');
    if (element_id === undefined) continue;
    if (!/^[A-Za-z]\w{0,19}$/.test(String(element_id))) throw new ApiError(300301, 'invalid element_id');
    if (ids.has(element_id)) throw new ApiError(300301, 'Duplicate element_id in card component');
    ids.add(element_id);
  }
  if (tables > 5) throw new ApiError(230099, 'ErrCode: 11310; ErrMsg: card table number over limit');
  return json;
}

function onlyKnown(what: string, fields: Fields, known: readonly string[]): void {
  const other = Object.keys(fields).find((name) => !known.includes(name));
  if (other !== undefined) throw new ApiError(200220, `${what} has no attribute ${other}`);
}
