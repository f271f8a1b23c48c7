// 30 turns on a server of each provider that refuses what its documentation says is refused: tools, parallel
// calls, a picture, another model in the middle, a kill -9, and compaction on the way.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { userWorkspaces } from '../../sessions/file-name.ts';
import { sessionKey, shortHash } from '../core/ids.ts';
import { DoublePlatform } from '../simulator/double/server.ts';
import { countFile, startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { png } from '../testing/pictures.ts';
import { testSample } from '../testing/sample.ts';
import { STRICT_PEERS, type StrictPeer } from '../testing/strict/peers.ts';
import { type Refusal, type StrictRequest, startStrictServer, type Turn } from '../testing/strict/strict-server.ts';

const TURNS = 30;
/** The turn in which the daemon dies while a tool runs, and the one in which the main model is down. */
const KILLED_IN = 9;
const DOWN_IN = 18;
const PICTURE_IN = 4;
const DOWN: Refusal = {
  status: 503,
  body: { error: { code: 503, message: 'the server is overloaded', type: 'overloaded_error' } },
};

const count = (n: number) => ({ name: 'count', args: { n } });

/** What the model does in one turn: nothing but text, one call, or two at once and then a third. */
function plan(turn: number): readonly Turn[] {
  const reasoning = `Turn ${turn} needs thought.`;
  const end: Turn = { text: `answer ${turn}`, reasoning };
  if (turn === PICTURE_IN) return [{ calls: [{ name: 'read_file', args: { path: 'shot.png' } }], reasoning }, end];
  if (turn % 3 === 0) return [end];
  if (turn % 3 === 1) return [{ calls: [count(turn)], reasoning, text: 'I count.' }, end];
  return [{ calls: [count(turn), count(turn + 100)], reasoning }, { calls: [count(turn + 200)], reasoning }, end];
}

/** In the middle of the conversation its older messages become a summary. */
const isSummary = ({ body }: StrictRequest): boolean => JSON.stringify(body).includes('You shorten the record');

/** Asked in order, whichever server it is that asks. */
class Script {
  readonly #steps = Array.from({ length: TURNS }, (_, turn) => plan(turn).map((step) => ({ turn, step }))).flat();
  #at = 0;

  get turn(): number {
    return this.#steps[this.#at]?.turn ?? TURNS;
  }

  next(request: StrictRequest): Turn {
    if (isSummary(request)) return { text: 'They asked, and it was counted.', reasoning: 'A summary needs thought.' };
    const step = this.#steps[this.#at]?.step;
    this.#at += 1;
    return step ?? { text: 'nothing was planned' };
  }
}

async function scene(main: StrictPeer, spare: StrictPeer) {
  const dir = await tempDir();
  const script = new Script();
  const options = { apiKey: 'sk-strict' };
  const servers = {
    main: await startStrictServer(main.wire, (request) => (script.turn === DOWN_IN ? DOWN : script.next(request)), options),
    spare: await startStrictServer(spare.wire, (request) => script.next(request), options),
  };
  const platform = new DoublePlatform();
  const url = await platform.start();
  const at = (peer: StrictPeer, baseUrl: string) => ({ ...peer.config, base_url: baseUrl, api_key_env: 'STRICT_KEY' });
  const config = {
    ...at(main, servers.main.baseUrl),
    fallback_models: [at(spare, servers.spare.baseUrl)],
    gateway: { channels: [{ type: 'double', allowed_senders: ['*'], settings: { url } }], max_attempts: 10, http: { port: 0 } },
  };
  const files = { dir: dir.path, config, env: { STRICT_KEY: 'sk-strict' } };
  const session = sessionKey({ channel: 'double', account: 'bot', chatId: 'c' });
  const workspace = join(userWorkspaces(join(dir.path, 'data'), session), shortHash(session, 32));
  await mkdir(workspace, { recursive: true });
  await writeFile(join(workspace, 'shot.png'), png(8, 8));
  await writeFile(countFile(dir.path), '');
  return {
    ...{ servers, script, platform },
    say: (turn: number) => platform.deliver({ id: `m${turn}`, chatId: 'c', senderId: 'ada', text: `question ${turn}` }),
    /** Dies when the `n`th run of the tool has ended and is not recorded. */
    dying: (n: number) => startChild({ ...files, killAt: `tool:after:${n}` }),
    last: () => startInline({ ...files, faultParts: true }),
    answered: () => platform.posted.map(({ text }) => text).filter((text) => text.startsWith('answer')),
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]();
      for (const server of Object.values(servers)) await server[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Runs of the tool before the one that the kill interrupts. */
const RUNS_BEFORE = Array.from({ length: KILLED_IN }, (_, turn) => plan(turn))
  .flat()
  .flatMap(({ calls = [] }) => calls)
  .filter(({ name }) => name === 'count').length;

// The first three and their spares speak every wire.
testSample(
  STRICT_PEERS.map((main, n) => [main.name, main, STRICT_PEERS[(n + 3) % STRICT_PEERS.length] ?? main] as const),
  (_row, n) => n < 3,
  test.concurrent,
)(
  '%s accepts 30 turns with tools, parallel calls, a picture, another model in the middle and a kill -9',
  async ([_name, main, spare]) => {
    await using at = await scene(main, spare);
    const from = KILLED_IN + 1; // a turn with calls
    for (let turn = 0; turn <= from; turn += 1) at.say(turn);
    {
      await using dying = await at.dying(RUNS_BEFORE + 1);
      const { signal } = await dying.ended;
      expect(`${signal} ${signal ? '' : dying.stderr()}`).toBe('SIGKILL ');
    }
    await using daemon = await at.last();
    for (let turn = from + 1; turn < TURNS; turn += 1) {
      await until(`turn ${turn - 1} is answered`, () => at.answered().length >= turn);
      at.say(turn);
    }
    await daemon.settled(TURNS);
    const told = (server: 'main' | 'spare') => at.servers[server].refusals.map(({ refusal }) => JSON.stringify(refusal.body));
    expect({ main: told('main'), spare: told('spare') }).toEqual({ main: [], spare: [] });
    expect(at.answered()).toEqual(Array.from({ length: TURNS }, (_, turn) => `answer ${turn}`));
    expect(at.servers.main.requests.some(isSummary)).toBe(true);
    expect(at.servers.spare.requests.length).toBeGreaterThan(0);
    expect(at.servers.main.counts['dummySignatures'] ?? 0).toBe(0);
  },
);
