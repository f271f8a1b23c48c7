/** SMTP wire call: the one user of nodemailer. One connection per mail; no retry. */
import { Readable } from 'node:stream';
import { createTransport } from 'nodemailer';
import type { SendResult } from '../../../src/core/channel.ts';
import { errorText } from '../../../src/core/errors.ts';
import { unreadFileResult } from '../../../src/lib/unread-file.ts';
import { domainOf } from '../in/authentication.ts';
import type { ServerAccess, ServerAddress, ServerPlace } from './client.ts';
import { type Credentials, type Login, passwordCredentials } from './credentials.ts';
import { describeFault, type ServerFault, serverWords } from './failure.ts';

export interface Mail {
  readonly from: { readonly name: string; readonly address: string };
  /** At least one. The mail goes to all of these and those of `cc`, or to none of them. */
  readonly to: readonly string[];
  readonly cc?: readonly string[];
  /** Also gets the mail, named in no header. */
  readonly blindCopy?: string;
  readonly subject: string;
  readonly messageId: string;
  readonly inReplyTo?: string;
  readonly references: readonly string[];
  readonly text: string;
  readonly html?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly attachments?: readonly { readonly path: string; readonly name: string; readonly mime: string }[];
}

export interface SmtpOptions {
  readonly server: ServerAddress;
  /** Whose login that is; default: one with a password. */
  readonly credentials?: Pick<Credentials, 'advice' | 'redact'>;
  /** Longest silence of the server, ms. */
  readonly timeoutMs: number;
}

export interface SmtpOutcome {
  readonly result: SendResult;
  /** Set when the server as a whole is the problem, not this mail. */
  readonly fault?: ServerFault;
}

/**
 * Sends with the login as it is now, and once more with another where the server refused it: what is refused
 * at the login was not handed over. Never rejects.
 */
export async function submitMail(
  mail: Mail,
  { access, timeoutMs }: { readonly access: ServerAccess; readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<SmtpOutcome> {
  const { place, credentials } = access;
  const send = (login: Login) => sendMail(mail, { server: { ...place, ...login }, credentials, timeoutMs }, signal);
  try {
    const login = await credentials.current(signal);
    const outcome = await send(login);
    const other = outcome.fault?.code === 'GH1501' ? await credentials.another(login, signal) : undefined;
    return other === undefined ? outcome : await send(other);
  } catch (error) {
    if (signal.aborted) return { result: { kind: 'retry', reason: 'sending was ended', scope: 'account' } };
    return toOutcome(error, { handedOver: false, place, credentials });
  }
}

/** Never rejects. */
export async function sendMail(mail: Mail, options: SmtpOptions, signal: AbortSignal): Promise<SmtpOutcome> {
  const { server, timeoutMs, credentials = passwordCredentials('', '') } = options;
  // The server can only have taken the mail once all of it, the final dot included, was handed to the socket.
  // nodemailer tells this only through its log; should that ever change, the tests on lost replies fail.
  let handedOver = false;
  const quiet = () => undefined;
  const info = (entry: unknown) => {
    if (typeof entry === 'object' && entry !== null && 'tnx' in entry && entry.tnx === 'message') handedOver = true;
  };
  const transport = createTransport({
    host: server.host,
    port: server.port,
    // Else EHLO tells the name of this machine, which ends in the Received header of every answer.
    name: domainOf(mail.from.address),
    secure: server.tls === 'implicit',
    requireTLS: server.tls === 'starttls',
    ignoreTLS: server.tls === 'none',
    auth:
      'accessToken' in server
        ? { type: 'OAuth2', user: server.user, accessToken: server.accessToken }
        : { user: server.user, pass: server.password },
    tls: { rejectUnauthorized: server.rejectUnauthorized, ...(server.ca === undefined ? {} : { ca: server.ca }) },
    connectionTimeout: Math.min(timeoutMs, 20_000),
    greetingTimeout: Math.min(timeoutMs, 20_000),
    dnsTimeout: Math.min(timeoutMs, 20_000),
    socketTimeout: timeoutMs,
    disableUrlAccess: true,
    logger: { trace: quiet, debug: quiet, info, warn: quiet, error: quiet, fatal: quiet },
  });
  const readers = mail.to.length + (mail.cc?.length ?? 0);
  // In this object nodemailer notes each answer to the envelope; its addresses are as they go over the wire.
  let envelope: Envelope | undefined;
  transport.use('stream', ({ message }, done) => {
    const own: Envelope = message.getEnvelope();
    envelope = own;
    message.processFunc((input) => Readable.from(onceAccepted(own, readers, input), { objectMode: false }));
    done();
  });
  try {
    await transport.sendMail({ ...toMessage(mail), signal });
    return { result: { kind: 'sent', platformId: mail.messageId } };
  } catch (error) {
    const refusal = (error as SmtpFailure | null)?.command === 'MAIL FROM' ? undefined : recipientRefusal(envelope, readers);
    const result = refusal && replyResult(refusal, credentials);
    if (result) return { result };
    return toOutcome(error, { handedOver, place: server, credentials });
  } finally {
    transport.close();
  }
}

interface Envelope {
  /** First the readers, then the blind copy. */
  readonly to: readonly string[];
  readonly accepted?: readonly string[];
  readonly rejectedErrors?: readonly (SmtpFailure & { readonly recipient?: string | undefined })[];
}

/**
 * The mail, unless a reader was refused: nodemailer would hand it over for the others. For the blind copy
 * alone it would prove to `find` that an answer was sent that reached no reader; for some of several readers
 * nothing could be tried again without a second copy for them. Read only after the envelope was answered; the
 * connection then closes within DATA, and a mail without its final dot does not exist (RFC 5321 section
 * 4.1.1.4).
 */
async function* onceAccepted(envelope: Envelope, readers: number, mail: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  const people = envelope.to.slice(0, readers);
  const isAccepted = people.length > 0 && people.every((one) => envelope.accepted?.includes(one));
  if (!isAccepted) throw new Error('a recipient was not accepted');
  yield* mail;
}

/** Of the first reader that was refused for good, else of the first one. */
function recipientRefusal(envelope: Envelope | undefined, readers: number): SmtpFailure | undefined {
  const people = envelope?.to.slice(0, readers) ?? [];
  const refusals = envelope?.rejectedErrors?.filter(({ recipient = '' }) => people.includes(recipient)) ?? [];
  return refusals.find(({ responseCode = 0 }) => responseCode >= 500) ?? refusals[0];
}

function toMessage(mail: Mail) {
  const { to, cc = [], blindCopy, attachments = [] } = mail;
  return {
    from: mail.from,
    to: to.map(bare),
    ...(cc.length === 0 ? {} : { cc: cc.map(bare) }),
    // Explicit, so that nothing in a header can add a recipient.
    envelope: { from: mail.from.address, to: [...to, ...cc, ...(blindCopy === undefined ? [] : [blindCopy])] },
    subject: mail.subject,
    messageId: mail.messageId,
    ...(mail.inReplyTo === undefined ? {} : { inReplyTo: mail.inReplyTo }),
    references: [...mail.references],
    text: mail.text,
    ...(mail.html === undefined ? {} : { html: mail.html }),
    headers: mail.headers,
    attachments: attachments.map(({ path, name, mime }) => ({ path, filename: name, contentType: mime })),
  };
}

function bare(address: string) {
  return { name: '', address };
}

interface SmtpFailure {
  readonly code?: string | undefined;
  /** Of the file that could not be read, where `code` is ESTREAM. */
  readonly originalCode?: string | undefined;
  readonly command?: string | undefined;
  readonly responseCode?: number | undefined;
  readonly response?: string | undefined;
}

interface Attempt {
  readonly handedOver: boolean;
  readonly place: ServerPlace;
  readonly credentials: Pick<Credentials, 'advice' | 'redact'>;
}

function toOutcome(error: unknown, { handedOver, place, credentials }: Attempt): SmtpOutcome {
  const failure = (typeof error === 'object' && error !== null ? error : {}) as SmtpFailure;
  const fault = describeFault(`SMTP server ${place.host}:${place.port}`, error, credentials);
  if (fault.code === 'GH1501') return { result: { kind: 'refused', reason: 'auth', detail: fault.detail }, fault };
  const reply = replyResult(failure, credentials);
  if (reply) return { result: reply };
  if (handedOver) return { result: unknown(serverWords(errorText(error), credentials)) };
  if (failure.code === 'ESTREAM' && failure.originalCode !== undefined)
    return { result: unreadFileResult(failure.originalCode, 'an attachment') };
  // An address nodemailer will not send to: the same next time
  if (failure.code === 'ENOENT' || failure.code === 'EENVELOPE' || failure.code === 'EMESSAGE' || failure.code === 'ESTREAM') {
    return { result: { kind: 'refused', reason: 'invalid', detail: serverWords(errorText(error), credentials) } };
  }
  const result: SendResult = {
    kind: 'retry',
    reason: fault.detail,
    scope: 'account',
    ...(fault.permanent ? { afterMs: 60_000 } : {}),
  };
  return failure.code === 'EABORT' ? { result } : { result, fault };
}

function unknown(words: string): SendResult {
  return { kind: 'unknown', detail: `the mail was handed over and no answer came: ${words}` };
}

/**
 * A limit that ends by itself, whatever the first digit says. "X.4.5 Mail system congestion", "useful only as
 * a persistent transient error" (RFC 3463 section 3.5), is what Gmail says of its limits of a day ("550,
 * 5.4.5", https://support.google.com/a/answer/3726730). The other one is Exchange Online's.
 */
const LIMIT_REACHED = /^5\d\d[ -]5\.4\.5\b|\bSubmissionQuotaExceeded/i;
/** It may last a day; the answer expires first where that is longer. */
const LIMIT_WAIT_MS = 900_000;

/** What the server's own words mean (RFC 5321 section 4.2, RFC 3463); undefined when it said nothing. */
function replyResult(
  { command, responseCode, response }: SmtpFailure,
  credentials: Attempt['credentials'],
): SendResult | undefined {
  if (typeof responseCode !== 'number' || responseCode < 400) return undefined;
  // Before the envelope (greeting, EHLO, STARTTLS, login) the server speaks about itself, not about this
  // mail.
  if (!/^(MAIL FROM|RCPT TO|DATA)$/.test(command ?? '')) return undefined;
  const detail = `${command ?? 'SMTP'}: ${serverWords(response ?? String(responseCode), credentials)}`;
  if (responseCode < 500 || responseCode === 503) {
    const about = command === 'RCPT TO' || command === 'DATA' ? 'part' : 'account';
    return { kind: 'retry', reason: detail, scope: responseCode === 421 ? 'account' : about };
  }
  if (LIMIT_REACHED.test(response ?? '')) return { kind: 'retry', reason: detail, scope: 'account', afterMs: LIMIT_WAIT_MS };
  const enhanced = /\b5\.(\d{1,3})\.(\d{1,3})\b/.exec(response ?? '');
  const status = enhanced ? `${enhanced[1]}.${enhanced[2]}` : '';
  if (responseCode === 552 || status === '3.4' || status === '2.3') return { kind: 'refused', reason: 'too-long', detail };
  if (responseCode === 530 || responseCode === 535) return { kind: 'refused', reason: 'auth', detail };
  if (command === 'RCPT TO' && !status.startsWith('7.')) return { kind: 'refused', reason: 'chat-gone', detail };
  // Behind DATA the server judges this mail, before it whom it is from and for.
  const isOfPeople = command !== 'DATA' && (status.startsWith('7.') || responseCode === 554);
  return { kind: 'refused', reason: isOfPeople ? 'blocked' : 'invalid', detail };
}
