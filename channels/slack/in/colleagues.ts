/**
 * People of our organisation whom an interaction or a history names with another workspace: the platform is
 * asked, because a person of another organisation looks the same there.
 */
import type { Clock } from '../../../src/core/ports.ts';
import { CallError } from '../../kit/call-error.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { type JsonObject, list, obj, str } from '../../kit/json.ts';
import { RecentSet } from '../../kit/recent.ts';
import type { SlackClient } from '../wire/client.ts';
import { isBot } from './bots.ts';
import { isRefusal } from './direct-chats.ts';
import { type Identity, isHome, teamOf, teamOfOurs } from './inbound-fields.ts';
import type { SlackPayload } from './payload.ts';

/** The platform wants its acknowledgement within three seconds. */
const LOOKUP_MS = 2_000;
const MAX_KNOWN = 2_000;

export interface ColleaguesOptions {
  readonly client: Pick<SlackClient, 'call'>;
  readonly clock: Clock;
  readonly me: () => Identity;
}

/** A person as a payload names them. */
interface Named {
  readonly user: string;
  readonly team: string;
}

export class Colleagues {
  readonly #options: ColleaguesOptions;
  /** `T2:U1`. Of strangers nothing is kept: they may become colleagues. */
  readonly #known = new RecentSet(MAX_KNOWN);

  constructor(options: ColleaguesOptions) {
    this.#options = options;
  }

  /**
   * The person of an interaction of our organisation, where the payload does not say whether they belong to
   * it. Undefined for any other payload.
   */
  inDoubt(payload: SlackPayload): Named | undefined {
    const { kind, body } = payload;
    const me = this.#options.me();
    const [user, team] = [str(obj(body['user'])['id']), str(obj(body['user'])['team_id'])];
    if (kind !== 'action' || user === undefined || team === undefined || isHome(team, me)) return undefined;
    return isOurs(body, me) && team !== teamOfOurs(payload, me) ? { user, team } : undefined;
  }

  /**
   * Of messages as a history has them, which names no organisation: the workspace of an author, where it is
   * one of our organisation. Each person is asked about once, and what the platform wants to be waited is
   * waited. Otherwise rejects as `has`.
   */
  async among(messages: readonly JsonObject[], signal: AbortSignal): Promise<(message: JsonObject) => string | undefined> {
    const inDoubt = messages.flatMap((message) => this.#authorInDoubt(message) ?? []);
    const sisters = new Set<string>();
    for (const [key, [named]] of Map.groupBy(inDoubt, keyOf)) if (named && (await this.#settled(named, signal))) sisters.add(key);
    return (message) => {
      const named = this.#authorInDoubt(message);
      return named && sisters.has(keyOf(named)) ? named.team : undefined;
    };
  }

  #authorInDoubt(message: JsonObject): Named | undefined {
    const me = this.#options.me();
    const [user, team] = [str(message['user']), teamOf(message)];
    if (me.enterpriseId === undefined || user === undefined || team === undefined) return undefined;
    return isHome(team, me) || isBot(message) ? undefined : { user, team };
  }

  async #settled(named: Named, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      try {
        return await this.has(named, signal);
      } catch (error) {
        if (!(error instanceof CallError) || error.failure.kind !== 'limited') throw error;
        await this.#options.clock.sleep(error.failure.retryAfterMs, signal);
      }
    }
  }

  /**
   * Whether that workspace is one of our organisation and the person one of its members. Rejects where a
   * later attempt may help, and with `signal.reason`.
   */
  async has(named: Named, signal: AbortSignal): Promise<boolean> {
    const { client, clock, me } = this.#options;
    const { user, team } = named;
    const key = keyOf(named);
    if (this.#known.has(key)) return true;
    try {
      const answer = await withDeadline({ clock, ms: LOOKUP_MS, signal }, (inner) => client.call('users.info', { user }, inner));
      const { enterprise_id: organisation, id, teams } = obj(obj(answer['user'])['enterprise_user']);
      // Where two people of two organisations have one id, it may be the other one: of another workspace.
      const isColleague = organisation === me().enterpriseId && id === user && list(teams).includes(team);
      if (isColleague) this.#known.add(key);
      return isColleague;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return false;
    }
  }
}

function keyOf({ user, team }: Named): string {
  return `${team}:${user}`;
}

/** Whether an interaction is with the app as our organisation has it. */
function isOurs(body: JsonObject, { enterpriseId }: Identity): boolean {
  const organisation = str(obj(body['enterprise'])['id']) ?? str(obj(body['team'])['enterprise_id']);
  return organisation !== undefined && organisation === enterpriseId;
}
