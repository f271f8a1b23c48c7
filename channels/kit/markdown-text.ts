/** The words of a tree, and words as a tree. */
import type { MarkdownNode, Root } from './markdown-tree.ts';

/** Depth first, without recursion: a tree may be deeper than the stack. */
function walk(node: MarkdownNode, visit: (node: MarkdownNode) => void): void {
  const waiting: MarkdownNode[] = [node];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    visit(next);
    if ('children' in next) for (const child of next.children.toReversed()) waiting.push(child);
  }
}

/** What stands there without a mark. */
export function textOf(node: MarkdownNode): string {
  let out = '';
  walk(node, (part) => {
    if ('value' in part) out += part.value;
    else if (part.type === 'break') out += '\n';
  });
  return out;
}

/** One paragraph that holds no construct. */
export function literal(text: string): Root {
  return { type: 'root', children: [{ type: 'paragraph', children: [{ type: 'text', value: text }] }] };
}
