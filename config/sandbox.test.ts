import { expect, it } from 'vitest';
import { sandboxSection } from './sections/sandbox.ts';

it('containers need an image, and an image needs a mode that has containers', () => {
  const problems = (section: object) =>
    sandboxSection.safeParse(section).error?.issues.map(({ path, message }) => [path[0], message]);
  expect(problems({ mode: 'docker' })).toEqual([['mode', 'needs an image']]);
  expect(problems({ mode: 'bwrap', image: 'debian' })).toEqual([['image', 'does nothing beside "mode": "bwrap"']]);
  expect(problems({ mode: 'docker', image: 'debian' })).toBeUndefined();
  expect(problems({ image: 'registry.example/tools:1@sha256' })).toBeUndefined();
});

it.each(['--privileged', 'a b', 'a;b', '', '$(x)'])('%j is no image', (image) => {
  expect(sandboxSection.safeParse({ mode: 'docker', image }).success).toBe(false);
});
