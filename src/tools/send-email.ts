import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { z } from 'zod';
import type { OutboundFile } from '../core/message.ts';
import type { Letter, Mailer, NotWritten } from '../core/messages.ts';
import type { AnswerScope, ApprovalFacts, ToolContext } from '../core/tool.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { openParent } from '../workspace/path.ts';
import { defineBoundTool, ToolFailure } from './define.ts';
import { mailAddresses } from './mail-addresses.ts';
import { attachFrom } from './send-file.ts';

/** A line of a header holds 998 bytes (RFC 5322); what is longer is cut by programs that show it. */
const SUBJECT_CHARS = 200;
const BODY_CHARS = 50_000;
const MOST_FILES = 10;

const Arguments = z.strictObject({
  to: z.array(z.string()).min(1).describe('Bare addresses, or names of people who wrote by mail'),
  subject: z
    .string()
    .min(1)
    .max(SUBJECT_CHARS)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line'),
  body: z.string().min(1).max(BODY_CHARS).describe('Markdown'),
  cc: z.array(z.string()).optional(),
  attachments: z.array(z.string()).max(MOST_FILES).optional().describe('Paths relative to the workspace'),
  channel: z.string().optional().describe('Mail channel to send from, where there are several'),
});

interface Port {
  readonly mailer: Mailer;
  /** By the arguments: digests of the files that a person was asked about last. */
  readonly approved: Map<string, readonly string[]>;
}

export const sendEmail = defineBoundTool({
  name: 'send_email',
  description:
    'Send a mail that begins a new conversation, to anyone. What they write back arrives as mail to you. ' +
    'To answer a mail that you are reading, just answer.',
  schema: Arguments,
  tags: ['message'],
  effect: 'outside',
  act: 'chat',
  // By the key of the call, which also makes the Message-ID: what was written before is not written again.
  idempotent: true,
  bind: ({ mailer }): Port | undefined => mailer && { mailer, approved: new Map() },
  judge: ({ mailer, approved }) => ({
    async approval(given, call) {
      const args = Arguments.parse(given);
      const { facts, digests } = await factsOf(args, mailer, call);
      approved.set(canonicalJson(args), digests);
      return facts;
    },
  }),
  async run(args, context, { mailer, approved }) {
    const { idempotencyKey, signal } = context;
    const letter = await letterOf(args, mailer);
    const attach: AnswerScope['attach'] = (file, over) => mailer.attach(letter, file, over);
    const files: OutboundFile[] = [];
    // What an earlier attempt wrote is on its way with the files of then.
    if (!(await mailer.isWritten(idempotencyKey))) {
      const { fileBytes } = found(await mailer.find(letter));
      for (const path of args.attachments ?? []) files.push(await attachFrom(path, context, attach));
      assertFits(files, fileBytes);
      await assertApproved(files, approved.get(canonicalJson(args)), signal);
    }
    const sent = await mailer.write(letter, files, idempotencyKey, signal);
    if (sent.kind === 'refused') throw new ToolFailure(sent.reason);
    return `The mail is on its way to ${sent.title}.`;
  },
});

async function letterOf({ to, cc = [], subject, body, channel }: z.output<typeof Arguments>, mailer: Mailer): Promise<Letter> {
  const addresses = { to: await addressesOf(to, mailer), cc: await addressesOf(cc, mailer) };
  return { ...mailAddresses(addresses), subject, text: body, channel };
}

/** What holds no `@` is a name. */
async function addressesOf(words: readonly string[], mailer: Mailer): Promise<string[]> {
  const addresses: string[] = [];
  for (const word of words) addresses.push(word.includes('@') ? word : found(await mailer.addressOf(word)).address);
  return addresses;
}

function found<Found extends { readonly kind: 'found' }>(answer: Found | NotWritten): Found {
  if (answer.kind === 'refused') throw new ToolFailure(answer.reason);
  return answer;
}

/** From where it goes, to whom in the form of the wire, and each file with its digest. */
async function factsOf(
  args: z.output<typeof Arguments>,
  mailer: Mailer,
  { workspace, signal }: Pick<ToolContext, 'workspace' | 'signal'>,
): Promise<{ readonly facts: ApprovalFacts; readonly digests: readonly string[] }> {
  const letter = await letterOf(args, mailer);
  const { from, fileBytes } = found(await mailer.find(letter));
  const files: { readonly path: string; readonly bytes: number; readonly sha256: string }[] = [];
  for (const path of args.attachments ?? []) {
    const { parent, name } = await openParent(workspace, path);
    await using _ = parent;
    await using file = await parent.openFile(name);
    const { size: bytes } = await file.stat();
    assertFits([...files, { bytes }], fileBytes);
    files.push({ path, bytes, sha256: await digestOf(file.createReadStream({ autoClose: false, start: 0 }), signal) });
  }
  const shown = [
    `From ${from}`,
    `To ${[...letter.to, ...letter.cc].join(', ')}`,
    ...files.map(({ path, bytes, sha256 }) => `With ${path}, ${bytes} bytes, SHA-256 ${sha256}`),
  ];
  const { to, cc } = letter;
  return { facts: { digest: { from, to, cc, files }, shown: shown.join('\n') }, digests: files.map(({ sha256 }) => sha256) };
}

function assertFits(files: readonly { readonly bytes: number }[], most: number): void {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes > most) throw new ToolFailure(`the files have ${bytes} bytes; a mail carries at most ${most}`);
}

/** The files may have changed since their digests were compared, by a call that runs at the same time. */
async function assertApproved(
  files: readonly OutboundFile[],
  digests: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (!digests) return;
  for (const [n, { path, name }] of files.entries()) {
    if ((await digestOf(createReadStream(path), signal)) !== digests[n])
      throw new ToolFailure(`${name} is no longer the file that was approved; nothing was sent`);
  }
}

async function digestOf(bytes: AsyncIterable<Buffer>, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of bytes) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
}
