/**
 * Commands and pressed components as the platform keeps them: acknowledged once, answered through their
 * token, shown to one person or to all
 * (https://docs.discord.com/developers/interactions/receiving-and-responding).
 */
import type { JsonObject } from './wire.ts';

export interface InteractionAnswer {
  readonly status: number;
  readonly body: unknown;
}

interface Open {
  readonly id: string;
  /** When the event was sent, epoch ms. */
  readonly at: number;
  readonly isComponent: boolean;
  acknowledged: 'message' | 'update' | undefined;
  isEphemeral: boolean;
  isOver: boolean;
  /** The message that answers; `undefined` content is "is thinking". */
  message: { readonly id: string; content?: string } | undefined;
}

const COMPONENT = 3;
/** Kinds of callbacks. Of the flags "the only valid message flag you may use is `EPHEMERAL`" in the first. */
const DEFERRED_MESSAGE = 5;
const DEFERRED_UPDATE = 6;
const EPHEMERAL = 64;

/** Codes of https://docs.discord.com/developers/topics/opcodes-and-status-codes#json. */
const UNKNOWN_INTERACTION = { status: 404, body: { message: 'Unknown interaction', code: 10_062 } };
const UNKNOWN_WEBHOOK = { status: 404, body: { message: 'Unknown Webhook', code: 10_015 } };
const UNKNOWN_MESSAGE = { status: 404, body: { message: 'Unknown Message', code: 10_008 } };
const INVALID_TOKEN = { status: 401, body: { message: 'Invalid Webhook Token', code: 50_027 } };
const ACKNOWLEDGED = { status: 400, body: { message: 'Interaction has already been acknowledged.', code: 40_060 } };
const INVALID = { status: 400, body: { message: 'Invalid Form Body', code: 50_035 } };
const DONE = { status: 204, body: undefined };

export class SimulatedInteractions {
  /** How long an acknowledgement is waited for. The platform: 3 s (the same page); a test may take longer. */
  acknowledgeMs = Number.POSITIVE_INFINITY;
  /** By token. */
  readonly #open = new Map<string, Open>();

  /** INTERACTION_CREATE was sent. */
  learn(event: JsonObject): void {
    const isComponent = event['type'] === COMPONENT;
    const state = { at: Date.now(), acknowledged: undefined, isEphemeral: false, isOver: false, message: undefined };
    this.#open.set(String(event['token']), { id: String(event['id']), isComponent, ...state });
  }

  /** The 15 minutes of a token are over. */
  expire(token: string): void {
    const open = this.#open.get(token);
    if (open) open.isOver = true;
  }

  /** What people see where a command was given; undefined where nothing stands. */
  shown(token: string): { readonly content?: string; readonly isEphemeral: boolean } | undefined {
    const open = this.#open.get(token);
    if (!open?.message) return undefined;
    const { content } = open.message;
    return { isEphemeral: open.isEphemeral, ...(content !== undefined && { content }) };
  }

  /** The platform's answer to a call; undefined for one that is about no interaction. */
  answer(method: string, route: string, body: JsonObject, nextId: () => string): InteractionAnswer | undefined {
    const [, id, token = ''] = /^\/interactions\/(\d+)\/([^/]+)\/callback$/.exec(route) ?? [];
    if (id !== undefined) return this.#acknowledge(id, this.#open.get(token), body, nextId);
    const original = /^\/webhooks\/\d+\/([^/]+)\/messages\/@original$/.exec(route)?.[1];
    return original === undefined ? undefined : this.#original(method, this.#open.get(original), body);
  }

  #acknowledge(id: string, open: Open | undefined, { type, data }: JsonObject, nextId: () => string): InteractionAnswer {
    if (!open || open.id !== id || open.isOver) return UNKNOWN_INTERACTION;
    if (open.acknowledged) return ACKNOWLEDGED;
    if (Date.now() - open.at > this.acknowledgeMs) return UNKNOWN_INTERACTION;
    const { flags = 0 } = (data ?? {}) as JsonObject;
    if (type === DEFERRED_UPDATE && open.isComponent) open.acknowledged = 'update';
    else if (type !== DEFERRED_MESSAGE || (flags !== 0 && flags !== EPHEMERAL)) return INVALID;
    else {
      open.acknowledged = 'message';
      open.isEphemeral = flags === EPHEMERAL;
      open.message = { id: nextId() };
    }
    return DONE;
  }

  #original(method: string, open: Open | undefined, body: JsonObject): InteractionAnswer {
    if (!open?.acknowledged) return UNKNOWN_WEBHOOK;
    if (open.isOver) return INVALID_TOKEN;
    const { message, isEphemeral } = open;
    if (!message) return UNKNOWN_MESSAGE;
    if (method === 'DELETE') {
      open.message = undefined;
      return DONE;
    }
    message.content = String(body['content'] ?? '');
    return { status: 200, body: { ...message, flags: isEphemeral ? EPHEMERAL : 0 } };
  }
}
