import type { ModelRequest } from '../../core/model.ts';
import type { ProviderState } from '../../core/session.ts';
import type { HttpAnswer } from '../../lib/http-fetch.ts';
import { loadOnce } from '../../lib/load-once.ts';
import { outputBeside } from '../tokens.ts';
import type { AnswerOptions } from './answer-assembly.ts';
import { asRecord } from './tool-call-assembly.ts';
import { type Assembly, callWire, type WarmableModel, type WireOptions } from './wire.ts';

/** What one wire does in its own way. */
export interface WireParts<Client> {
  /** Loads the SDK and makes its client. Asked for by the first call or `warm`, and again after it failed. */
  readonly connect: () => Promise<Client>;
  /** Asked for where the request has no limit. */
  readonly outputLimit?: number | undefined;
  readonly assembly: (answer: AnswerOptions, request: ModelRequest) => Assembly;
  /** Sends the request; resolves with the unread answer. Rejects with the SDK's error when it is refused. */
  readonly open: (client: Client, request: ModelRequest, signal: AbortSignal) => Promise<Pick<HttpAnswer, 'body'>>;
}

/** A model over one wire. Connects and loads nothing before a first call or `warm`, and retries nothing. */
export function createWireModel<Client>(options: WireOptions, parts: WireParts<Client>): WarmableModel {
  const { provider, model, contextWindow, facts } = options;
  const refused = new WeakSet<ProviderState>();
  const client = loadOnce(parts.connect);
  return {
    id: `${provider}/${model}`,
    contextWindow,
    ...(facts ? { facts } : {}),
    call: (request, signal) =>
      callWire(options, request, signal, {
        assembly: (inputTokens) => parts.assembly({ provider, model, inputTokens }, request),
        open: async (until, inputTokens) => {
          const sdk = await client();
          const { maxOutputTokens: asked = parts.outputLimit } = request;
          const fitted = { ...request, ...outputWithin(options, asked, inputTokens) };
          const sent = withoutState(fitted, (state) => refused.has(state));
          try {
            return await parts.open(sdk, sent, until);
          } catch (error) {
            const states = sent.messages.flatMap((message) => message.provider_state ?? []);
            if (!refusesState(error) || states.length === 0) throw error;
            const bare = withoutState(sent, () => true);
            const stream = await parts.open(sdk, bare, until);
            // They would be refused with every later request too.
            for (const state of states) refused.add(state);
            return stream;
          }
        },
      }),
    async warm() {
      await client();
    },
  };
}

/** More than the model can write is refused, and by many servers what the window has no room for. */
function outputWithin({ contextWindow, facts }: WireOptions, asked: number | undefined, inputTokens: number) {
  if (asked === undefined) return {};
  const room = outputBeside(inputTokens, contextWindow);
  return { maxOutputTokens: Math.min(asked, room, facts?.maxOutputTokens ?? Infinity) };
}

/**
 * Signatures are void once the key, the route or, unnoticed, the conversation has changed; and some servers
 * look for reasoning items among those that they have stored.
 */
const REFUSED_STATE =
  /thought.?signature|signature\W+in\W+thinking|thinking\W+block|encrypted.content|not persisted|(?:type|required) 'reasoning'/i;

function refusesState(error: unknown): boolean {
  const { status, error: body } = asRecord(error);
  return (status === 400 || status === 404) && REFUSED_STATE.test(JSON.stringify(body));
}

function withoutState(request: ModelRequest, isOut: (state: ProviderState) => boolean): ModelRequest {
  const messages = request.messages.map((message) => {
    if (!message.provider_state || !isOut(message.provider_state)) return message;
    const { provider_state: _, ...bare } = message;
    return bare;
  });
  return { ...request, messages };
}
