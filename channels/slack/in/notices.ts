/**
 * What the platform tells that no person wrote: acted on, or named in the log once, so that nothing is
 * dropped in silence.
 */
import type { Logger } from '../../../src/core/ports.ts';
import { type JsonObject, list, num, obj, str } from '../../kit/json.ts';
import { RecentSet } from '../../kit/recent.ts';
import type { InboundContext } from './inbound-fields.ts';
import type { SlackPayload } from './payload.ts';

export interface NoticesOptions {
  readonly logger: Logger;
  /**
   * Tokens were revoked, or the app was removed from a workspace. It is not said whose: asking tells whether
   * ours is among them.
   */
  readonly onLogin: () => void;
  /** Events of this minute are not pushed, now or later. */
  readonly onHeldBack: () => void;
}

/** Kinds and conversations that are remembered; their names come from outside. */
const MAX_NAMES = 500;
/** Our messages change, and links unfold: these are read, and mean nothing here. */
const READ = new Set(['message/message_changed', 'message/message_deleted', 'message/message_replied', 'reaction_added']);

export class Notices {
  readonly #options: NoticesOptions;
  readonly #named = new RecentSet(MAX_NAMES);

  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  /** A payload that made no message. Never throws. */
  take(payload: SlackPayload, { me }: Pick<InboundContext, 'me'>): void {
    const { logger, onLogin, onHeldBack } = this.#options;
    const event = payload.kind === 'event' ? obj(payload.body['event']) : {};
    switch (event['type']) {
      case 'tokens_revoked':
      case 'app_uninstalled':
        onLogin();
        break;
      case 'app_rate_limited':
        logger.warn('slack.events-held-back', { minute: num(payload.body['minute_rate_limited']) });
        onHeldBack();
        break;
      case 'member_joined_channel':
        if (event['user'] === me.userId) this.#joined(event);
        else this.unhandled('member_joined_channel of a person');
        break;
      default:
        this.unhandled(kindOf(payload, event));
    }
  }

  /** Something was acknowledged and nothing done with it: told once for each kind. */
  unhandled(kind: string): void {
    const name = kind.slice(0, 100);
    if (READ.has(name) || this.#named.has(name)) return;
    this.#named.add(name);
    this.#options.logger.info('slack.not-handled', { kind: name });
  }

  /**
   * https://docs.slack.dev/reference/events/member_joined_channel: the operator needs the id to let the
   * conversation in.
   */
  #joined(event: JsonObject): void {
    const channel = str(event['channel']) ?? 'unknown';
    if (this.#named.has(`joined ${channel}`)) return;
    this.#named.add(`joined ${channel}`);
    const hint = 'it is answered there once the id stands in allowed_groups';
    this.#options.logger.info('slack.invited', { channel, inviter: str(event['inviter']), hint });
  }
}

/** `app_home_opened`, `message/channel_join`, `view_submission`, `block_actions/static_select`. */
function kindOf({ kind, body }: SlackPayload, event: JsonObject): string {
  if (kind === 'command') return 'slash command without its fields';
  const [type, more] =
    kind === 'event' ? [event['type'], event['subtype']] : [body['type'], obj(list(body['actions'])[0])['type']];
  return [str(type) ?? 'untyped', str(more)].filter((part) => part !== undefined).join('/');
}
