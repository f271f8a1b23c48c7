/** A guard around the SDK's shard, which awaits no method of its own: a bad frame would end the process. */
import { num, obj, parseObject, str } from '../../kit/json.ts';
import { isGatewayUrl } from './ids.ts';

interface Socket {
  readonly readyState: number;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  terminate(): void;
}

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** What the SDK's types hide; checked by the tests that send frames over a socket. */
interface Shard {
  connection: Socket | null;
  unpackMessage: (data: unknown, isBinary: boolean) => Promise<unknown>;
  onMessage: Method;
  onClose: Method;
  internalConnect: Method;
  heartbeat: Method;
  destroy: Method;
}

const UNAWAITED = ['onMessage', 'onClose', 'internalConnect', 'heartbeat', 'destroy'] as const;
const CONNECTING = 0;
/** Opcodes: https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-opcodes */
const DISPATCH = 0;
const INVALID_SESSION = 9;
const HELLO = 10;
const MIN_HEARTBEAT_MS = 1_000;
/** Longer does not fit a timer, which then fires at once. */
const MAX_HEARTBEAT_MS = 2 ** 31 - 1;

/** `broken` is told why this connection cannot go on. */
export function guardShard(sdk: unknown, broken: (error: unknown) => void): void {
  const shard = sdk as Shard;
  shard.unpackMessage = async (data, isBinary) => (isBinary ? null : readFrame(String(data)));
  const destroy = shard.destroy.bind(shard);
  shard.destroy = async (...args) => {
    const { connection } = shard;
    // The SDK stops listening, and a socket that was still connecting throws what becomes of it at nobody.
    connection?.on('error', () => undefined);
    if (connection?.readyState === CONNECTING) connection.terminate();
    return destroy(...args);
  };
  for (const name of UNAWAITED) {
    const method = shard[name].bind(shard);
    shard[name] = (...args) => method(...args).catch(broken);
  }
}

/** Null for what means nothing. Throws on a frame that the connection cannot go on with. */
function readFrame(text: string): unknown {
  const frame = parseObject(text);
  if (!frame) return null;
  const { op, t, s, d } = frame;
  if (op === INVALID_SESSION) return { ...frame, d: d === true };
  const data = obj(d);
  if (op === HELLO) {
    const interval = num(data['heartbeat_interval']) ?? 0;
    if (interval < MIN_HEARTBEAT_MS || interval > MAX_HEARTBEAT_MS) throw new Error('the gateway states no heartbeat');
  } else if (op === DISPATCH) {
    // Without its number nobody knows where to go on after it.
    if (!Number.isSafeInteger(s) || Number(s) < 0) throw new Error('the gateway sent an event without a number');
    if (t === 'READY' && (str(data['session_id']) === undefined || !isGatewayUrl(data['resume_gateway_url']))) {
      throw new Error('the gateway began a session that names nothing to go on with');
    }
  }
  return frame;
}
