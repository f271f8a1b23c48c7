import type { CDPSession } from 'playwright-core';

/** For the page to answer. */
const ANSWER_MS = 10_000;
/** A page that is left in the middle of a look is looked at again: so often. */
const TRIES = 3;
const NAME = 'look';

/**
 * What a function finds in the page that is shown, out of the reach of its scripts: in a world of our own,
 * which shares the document and none of their objects. In theirs, a getter or a method that they replaced
 * would tell them what is looked at, and so carry out what the model has read. The function sees nothing of
 * its file.
 */
export async function inOwnWorld<Result>(cdp: CDPSession, look: (max: number) => Result, max: number): Promise<Result> {
  return await within(ANSWER_MS, tried(cdp, { declaration: `${look}`, max }, TRIES));
}

async function tried<Result>(
  cdp: CDPSession,
  look: { readonly declaration: string; readonly max: number },
  tries: number,
): Promise<Result> {
  try {
    const { frameTree } = await cdp.send('Page.getFrameTree');
    const world = await cdp.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: NAME });
    const { result, exceptionDetails } = await cdp.send('Runtime.callFunctionOn', {
      ...{ executionContextId: world.executionContextId, returnByValue: true },
      ...{ functionDeclaration: look.declaration, arguments: [{ value: look.max }] },
    });
    if (exceptionDetails) throw new Error('the page could not be read');
    return result.value as Result;
  } catch (error) {
    if (tries > 1) return await tried(cdp, look, tries - 1);
    throw new Error('the page could not be read: it was left meanwhile, or is damaged', { cause: error });
  }
}

/** Rejects once it takes longer; what it waits for is left alone. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`the page did not answer within ${ms / 1_000} s`)), ms);
  // It may fail when nothing waits for it any more.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
