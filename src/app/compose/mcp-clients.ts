import { CLIENT_NAMES } from '../../core/mcp-client.ts';
import { planBelow } from '../../delivery/plan-below.ts';
import { Asks } from '../../http/mcp-server/asks.ts';
import { ClientChats } from '../../http/mcp-server/client-chats.ts';
import { ClientServer } from '../../http/mcp-server/server.ts';
import { packageVersion } from '../../lib/package-info.ts';
import type { ChannelSet } from '../channels.ts';
import type { GatewayParts } from './gateway.ts';
import { writtenTo } from './messages.ts';
import type { LiveConfig } from './options.ts';
import { type TurnParts, writerCheck } from './runner.ts';

const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;
/** Of what may wait, clients leave so much to people; the rest they share with jobs. */
const FOR_PEOPLE = 1 / 2;
/** Of what may wait, as one person has, and at least so many. */
const OF_CLIENT = 1 / 10;
const LEAST = 40;

/** What the daemon keeps of it. */
export interface McpClients extends AsyncDisposable {
  /** The config has changed. Never rejects. */
  look(): Promise<void>;
}

/** The clients of section `mcp_clients`, who are let in from now on. */
export async function composeMcpClients(turn: TurnParts, { gateway }: Pick<GatewayParts, 'gateway'>): Promise<McpClients> {
  const { base, pairing } = turn;
  const { options, journal, events, live } = base;
  const { clock, logger, dataDir, config } = options;
  const chats = composeChats(turn);
  const asks = new Asks({
    ...{ journal, clock, observe: (observer) => events.observe(observer) },
    sent: (id, call) => chats.sent(id, call),
    look: () => gateway.look(),
    limits: () => limitsOf(live(), config.gateway.high_water),
  });
  const server = new ClientServer({
    ...{ dataDir, version: packageVersion(), asks, chats, clock, logger },
    clients: () => live().mcp_clients,
    isBlocked: (client) => pairing.isBlocked({ channel: CLIENT_NAMES.principal, senderId: client }),
  });
  await server.look();
  return {
    look: () => server.look(),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      asks[Symbol.dispose]();
    },
  };
}

function composeChats(turn: TurnParts): ClientChats {
  const { base, transcripts } = turn;
  const { options, journal, channels, cap, live } = base;
  const { clock } = options;
  return new ClientChats({
    ...{ journal, transcripts, clock, cap, rules: writtenTo(channels), mayWrite: writerCheck(turn) },
    channel: (name) => channelIn(channels, name),
    parts: (message, text, head) =>
      planBelow(head, {
        ...{ message, text, files: [], limits: channelIn(channels, message.channel)?.limits, now: clock.now() },
        expiresInMs: live().gateway.answer_expiry_hours * HOUR_MS,
      }),
  });
}

function channelIn({ channels }: ChannelSet, name: string) {
  return channels.get(name);
}

/** What a client may have waiting is what a person may. */
function limitsOf({ limits }: Pick<LiveConfig, 'limits'>, highWater: number) {
  const { person_messages: runs = Math.max(LEAST, Math.floor(highWater * OF_CLIENT)), person_mb: megabytes } = limits;
  return { reserve: Math.floor(highWater * FOR_PEOPLE), runs, bytes: megabytes * MIB };
}
