import type { SeenMessage } from '../../simulator/platforms/platform.ts';

/**
 * What arrived for each question, in order. Every question is asked by a person of its own, whose chat tells;
 * `people` of 1: one asked them all, and a text that begins like an answer of the `SweepModel` begins the
 * next one. Others belong to the text before them.
 */
export function toAnswers(seen: readonly SeenMessage[], questions: readonly string[], people?: number): string[][] {
  if (people !== 1)
    return questions.map((_question, index) => seen.filter(({ person }) => person === index).map(({ text }) => text));
  const answers = questions.map((): string[] => []);
  let current: string[] | undefined;
  for (const { text } of seen) {
    const number = /^answer (\d+)(?:\n|$)/.exec(text)?.[1];
    const index = questions.findIndex((question) => number !== undefined && question.endsWith(` ${number}`));
    if (index >= 0) {
      current = answers[index];
      current?.push(text);
    } else {
      // What nobody asked for shows as a text that is not the one expected.
      current ??= answers[0];
      const last = current?.pop();
      current?.push(last === undefined ? text : `${last}\n${text}`);
    }
  }
  return answers;
}
