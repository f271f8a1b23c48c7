// What people ask an agent for, over Telegram: a scripted model, every tool real, and what arrives opened by
// other programs.
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest';
import { userWorkspaces } from '../../sessions/file-name.ts';
import { sessionKey, shortHash } from '../core/ids.ts';
import { canonicalName } from '../core/tool-groups.ts';
import { type PlainServers, startPlainServers } from '../testing/email/plain-servers.ts';
import { CODE } from '../testing/errands/code.ts';
import { DATA } from '../testing/errands/data.ts';
import { BEN, type Errand, type Outcome } from '../testing/errands/errand.ts';
import { OFFICE } from '../testing/errands/office.ts';
import { HELPED, TEAM } from '../testing/errands/team.ts';
import { PAGES, WORLD } from '../testing/errands/world.ts';
import { inbound, until } from '../testing/fakes.ts';
import { callPieces, messagesOf, type ReceivedRequest, stream, textPieces } from '../testing/model-server.ts';
import { needs } from '../testing/needs.ts';
import { type TelegramScene, telegramScene } from '../testing/telegram/scene.ts';
import { webPeer } from '../testing/web-peer.ts';
import { BUILT_IN } from '../tools/index.ts';

const ERRANDS: readonly Errand[] = [...CODE, ...DATA, ...OFFICE, ...WORLD, ...TEAM];
const chatOf = (errand: Errand): number => 1_001 + ERRANDS.indexOf(errand);
const PEOPLE = ERRANDS.map((errand) => String(chatOf(errand)));
const ASKED = ERRANDS.filter(({ asks }) => asks);
const BEGUN = ERRANDS.reduce((sum, { begins = 0 }) => sum + begins, 0);
const MAILBOX = { owner: 'bot@example.org', password: 'p' };

/** Of a message that is sent to the model, what it called. */
interface Said {
  readonly tool_calls?: readonly { readonly function: { readonly name: string } }[];
}

/** Of each errand what its model was last told. */
const told = new Map<Errand, readonly string[]>();
/** By digest. */
const uploads = new Map<string, Buffer>();
let scene: TelegramScene;
let dataDir: string;
let jobs: readonly string[];
let mail: PlainServers;

/** Finds the errand by its number in the message, and goes on where its model had stopped. */
function answer(request: ReceivedRequest) {
  const messages = messagesOf(request);
  // A question of a tool, which is offered none itself.
  if (!('tools' in request.body)) return stream(textPieces(messages[1]?.content.includes('[2]') ? SYNTHESIS : 'Noted.'));
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const said = messages[at]?.content ?? '';
  if (said.includes('You are a sub-agent') || said.includes('nobody reads along')) return stream(textPieces(HELPED));
  if (said.includes('Ben here')) return stream(textPieces('hello'));
  const errand = ERRANDS[Number(/errand (\d+):/.exec(said)?.[1])];
  if (!errand) throw new Error(`no errand is asked for in: ${said}`);
  const results = messages.slice(at + 1).flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
  told.set(errand, results);
  const move = errand.moves[results.length] ?? 'There is nothing left to do.';
  const upload = /: (uploads\/\S+) \(/.exec(said)?.[1] ?? 'none';
  const next = typeof move === 'function' ? move({ upload, told: results }) : move;
  return stream(typeof next === 'string' ? textPieces(next) : callPieces(next));
}

beforeAll(async () => {
  const web = await webPeer(({ host, url }, response) => {
    const found = host === 'search.example' ? FOUND : PAGES[`${host}${url}`];
    response.writeHead(found ? 200 : 404, { 'content-type': found?.type ?? 'text/plain' }).end(found?.body ?? 'gone');
  });
  await using _ = web;
  mail = await startPlainServers(MAILBOX);
  const servers = { imap_host: '127.0.0.1', imap_port: mail.imapPort, smtp_host: '127.0.0.1', smtp_port: mail.smtpPort };
  const plain = { imap_tls: 'none', smtp_tls: 'none', from_address: MAILBOX.owner, trust_from: true };
  scene = await telegramScene({
    script: answer,
    entry: { allowed_senders: [...PEOPLE, String(BEN)] },
    channels: [{ type: 'email', settings: { ...servers, ...plain } }],
    gateway: { owner: [{ channel: 'telegram', chat_id: PEOPLE[0], sender_ids: PEOPLE }], max_concurrent_sessions: 8 },
    config: {
      sandbox: {},
      tool_policy: {
        mode: 'full',
        senders: Object.fromEntries(ASKED.map((one) => [`telegram:${chatOf(one)}`, { mode: 'guarded' }])),
      },
      web: { web_search: { tavily: { api_key_env: 'SEARCH_KEY', base_url: 'http://search.example' } } },
    },
  });
  scene.platform.onUpload = ({ sha256 }, content) => void uploads.set(sha256, content);
  await using daemon = await scene.start({
    env: { SEARCH_KEY: 'k', EMAIL_USERNAME: MAILBOX.owner, EMAIL_PASSWORD: MAILBOX.password },
    connector: web.connector,
  });
  await daemon.ready();
  scene.platform.inject({ chat_id: BEN, from: { id: BEN, first_name: 'Ben' }, text: 'Ben here' });
  await daemon.settled(1);
  for (const [index, errand] of ERRANDS.entries()) {
    const words = `errand ${index}: ${errand.say}`;
    const from = { chat_id: chatOf(errand), from: { id: chatOf(errand) } };
    if (!errand.file) {
      scene.platform.inject({ ...from, text: words });
      continue;
    }
    const { name, mime, content } = errand.file;
    scene.platform.addFile(`file-${index}`, Buffer.from(content));
    const document = { file_id: `file-${index}`, file_unique_id: `u${index}`, file_name: name, mime_type: mime };
    scene.platform.inject({ ...from, caption: words, document });
  }
  for (const one of ASKED) {
    const code = await until(
      `${one.title} asks`,
      () => /\/allow ([A-Z2-9]{6})/.exec(scene.texts(chatOf(one)).join('\n'))?.[1],
      120_000,
    );
    scene.platform.inject({ chat_id: chatOf(one), from: { id: chatOf(one) }, text: `/allow ${code}` });
  }
  await daemon.settled(1 + ERRANDS.length + ASKED.length + BEGUN, 120_000);
  await daemon.stop();
  ({ dataDir } = daemon);
  using journal = new DatabaseSync(join(dataDir, 'journal.db'), { readOnly: true });
  jobs = journal
    .prepare('SELECT name FROM job')
    .all()
    .map(({ name }) => String(name));
}, 150_000);

afterAll(async () => {
  await scene[Symbol.asyncDispose]();
  await mail[Symbol.asyncDispose]();
});

const FOUND = {
  type: 'application/json',
  body: JSON.stringify({
    results: ['http://a.example/', 'http://b.example/', 'http://news.example/gone'].map((url) => ({ title: 'Version', url })),
  }),
};
const SYNTHESIS = 'Version 4 needs 1 GB [2].';

const sendsOf = (errand: Errand) => scene.platform.sends.filter(({ chatId }) => chatId === String(chatOf(errand)));
const run: Outcome['run'] = async (program, ...args) =>
  (await promisify(execFile)(program, args, { timeout: 150_000 })).stdout.trim();

let opened: Promise<string> | undefined;

/**
 * Opens all documents that arrived, in one run of LibreOffice; resolves with the directory of their texts.
 */
async function openDocuments(): Promise<string> {
  const dir = join(scene.dir, 'documents');
  await mkdir(dir);
  const paths: string[] = [];
  for (const errand of ERRANDS) {
    const file = sendsOf(errand).find((sent) => sent.file)?.file;
    if (!file?.name.endsWith('.docx')) continue;
    paths.push(join(dir, `${chatOf(errand)}.docx`));
    await writeFile(paths.at(-1) ?? '', uploads.get(file.sha256) ?? '');
  }
  const profile = `-env:UserInstallation=file://${dir}/profile`;
  await run('soffice', profile, '--headless', '--convert-to', 'txt:Text', '--outdir', dir, ...paths);
  return dir;
}

async function wordsOf(errand: Errand): Promise<string> {
  opened ??= openDocuments();
  return await readFile(join(await opened, `${chatOf(errand)}.txt`), 'utf8');
}

async function outcomeOf(errand: Errand): Promise<Outcome> {
  const sends = sendsOf(errand);
  const dir = join(scene.dir, 'arrived', String(chatOf(errand)));
  await mkdir(dir, { recursive: true });
  const files = sends.flatMap(({ file }) => (file ? [{ name: file.name, path: join(dir, file.name), sha256: file.sha256 }] : []));
  for (const { path, sha256 } of files) await writeFile(path, uploads.get(sha256) ?? '');
  const session = sessionKey(inbound({ channel: 'telegram', chatId: String(chatOf(errand)) }));
  const last = sends.at(-1);
  return {
    ...{ told: told.get(errand) ?? [], files, jobs, toBen: scene.texts(BEN), mails: mail.sent },
    texts: sends.map(({ text }) => text).filter((text) => text !== ''),
    workspace: join(userWorkspaces(dataDir, session), shortHash(session, 32)),
    choices: last ? scene.platform.markupOf(last.messageId).map(({ text }) => text) : [],
    reactions: scene.platform.reactions
      .filter((reaction) => String(reaction['chat_id']) === String(chatOf(errand)))
      .flatMap(({ reaction }) => (reaction as readonly { readonly emoji: string }[]).map(({ emoji }) => emoji)),
    words: () => wordsOf(errand),
    run,
  };
}

/** Without one there is neither a shell nor a search, which most errands need. */
function needsSandbox(context: TestContext): void {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
  needs(context, 'rg', '--version');
  needs(context, 'git', '--version');
}

test('there are forty errands and more, and every tool is in one', (context) => {
  needsSandbox(context);
  expect(ERRANDS.length).toBeGreaterThanOrEqual(40);
  const calls = scene.model.requests.flatMap(({ body }) =>
    (body['messages'] as readonly Said[]).flatMap(({ tool_calls: made = [] }) => made),
  );
  const asked = new Set(calls.map(({ function: { name } }) => canonicalName(name)));
  const unasked = [...BUILT_IN.map(({ name }) => name), 'activate_tools'].filter((name) => !asked.has(name));
  expect(unasked).toEqual([]);
});

test.for(ERRANDS)('$title', { timeout: 180_000 }, async (errand, context) => {
  needsSandbox(context);
  for (const program of errand.needs ?? []) needs(context, 'which', program);
  const outcome = await outcomeOf(errand);
  const said = JSON.stringify({ told: outcome.told, texts: outcome.texts });
  expect(outcome.told, said).toHaveLength(errand.moves.length - 1);
  await errand.check(outcome);
});
