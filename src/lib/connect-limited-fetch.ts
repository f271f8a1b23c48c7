/**
 * The platform's fetch has no connect limit besides undici's built-in 10 s. Node publishes its dispatcher
 * under this symbol (undici, lib/global.js); a second one of the same class carries our limit.
 */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

type DispatcherClass = new (options: { connect: { timeout: number } }) => object;

/** `fetch` that gives up connecting after `connectMs`; without a dispatcher the built-in limit stays. */
export function connectLimitedFetch(connectMs: number): typeof fetch {
  let dispatcher: object | undefined;
  return (input, init) => {
    dispatcher ??= createDispatcher(connectMs);
    return fetch(input, { ...init, dispatcher } as RequestInit);
  };
}

function createDispatcher(connectMs: number): object | undefined {
  // Node loads undici, and with it the dispatcher, when the first of its classes is used.
  void new Headers();
  const current: unknown = Reflect.get(globalThis, GLOBAL_DISPATCHER);
  if (typeof current !== 'object' || current === null) return undefined;
  const Dispatcher = current.constructor as DispatcherClass;
  return new Dispatcher({ connect: { timeout: connectMs } });
}
