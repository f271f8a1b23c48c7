import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { leastCpuMs } from '../testing/cpu-time.ts';
import { tempDir } from '../testing/fakes.ts';
import { toolCall } from '../testing/tool-scope.ts';
import { languageOf } from './code-languages.ts';
import { outlineOf } from './code-outline.ts';
import { codeStructureTool } from './code-structure.ts';
import { runTool } from './run.ts';

/** Lines as `level from-to kind name`. */
function outline(path: string, code: string): readonly string[] {
  const language = languageOf(path);
  if (!language) throw new Error(`no language for ${path}`);
  return outlineOf(code, language).map(({ kind, name, from, to, level }) => `${level} ${from}-${to} ${kind} ${name}`);
}

const CASES: readonly (readonly [path: string, code: string, expected: readonly string[]])[] = [
  [
    'a.ts',
    `import { x } from './x.ts';
/* class Hidden { } */
export abstract class Door<T> extends Wall {
  readonly #lock = new Lock({ kind: 'a' });
  constructor(private readonly key: Key) {
    super();
  }
  async open(
    by: Person,
  ): Promise<{ ok: boolean }> {
    if (by.has(this.key)) { return { ok: true }; }
    return this.refuse(() => { class Inner { run() { return 1; } } });
  }
  get isOpen(): boolean { return /[{"]/.test(this.state); }
  readonly shut = async (): Promise<void> => {
    await this.slam();
  };
  abstract paint(colour: string): void;
}
export interface Key { teeth: number }
export const open = (door: Door) => door.open();
const total = (1 + 2) * 3;
export default async function* walk(text = \`} \${'{'} function no() {\`) {
  yield text;
}
function over(a: string): void;
function over(a: number): void;
function over(a: unknown) {
  function inner() {}
}`,
    [
      '0 3-19 class Door',
      '1 5-7 method constructor',
      '1 8-13 method open',
      '1 14-14 method isOpen',
      '1 15-17 function shut',
      '0 20-20 interface Key',
      '0 21-21 function open',
      '0 23-25 function walk',
      '0 26-26 function over',
      '0 27-27 function over',
      '0 28-30 function over',
      '1 29-29 function inner',
    ],
  ],
  [
    'a.py',
    `"""
class Hidden:
"""
class Cat(Animal):
    # def no(): pass
    name = 'def no():'

    def meow(
        self,
        times=1,
    ):
        def inner():
            return 1
        return inner

    @property
    async def age(self): return 3


async def main():
    x = {
'a': 1,
    }

    return x
print(main())
`,
    ['0 4-17 class Cat', '1 8-14 method meow', '2 12-13 function inner', '1 17-17 method age', '0 20-25 function main'],
  ],
  [
    'a.go',
    `package a

type Shop struct {
	Name string
}

type (
	Buyer interface {
		Buy()
	}
)

func (s *Shop) Open(at time.Time) (ok bool, err error) {
	go func() { fmt.Println("}") }()
	return
}

func New[T any](x T) *Shop { return &Shop{Name: \`{\`} }
`,
    ['0 3-5 struct Shop', '0 8-10 interface Buyer', '0 13-16 method (s *Shop) Open', '0 18-18 function New'],
  ],
  [
    'a.rs',
    `pub(crate) struct Cell<'a> { name: &'a str }
struct Unit;
impl<'a> Cell<'a> {
    pub const fn new(name: &'a str) -> Self { Self { name } }
    async fn run(&self) -> char {
        let s = r#"fn no() { "{" "#;
        '{'
    }
}
pub trait Named {
    fn name(&self) -> String;
}
mod tests {
    #[test]
    fn works() { assert!("}" == "}"); }
}
`,
    [
      '0 1-1 struct Cell',
      '0 2-2 struct Unit',
      "0 3-9 impl <'a> Cell<'a>",
      '1 4-4 function new',
      '1 5-8 function run',
      '0 10-12 trait Named',
      '1 11-11 function name',
      '0 13-16 mod tests',
      '1 15-15 function works',
    ],
  ],
  [
    'A.java',
    `package a;
public final class A<T> extends B implements C {
    private final Map<String, List<T>> all = new HashMap<>();
    public A(int size) {
        super(size);
    }
    @Override
    public <R> Map<String, R> map(Function<T, R> by) throws IOException {
        if (all.isEmpty()) { return Map.of(); }
        return by.apply("}");
    }
    abstract void paint();
    enum Kind { ONE, TWO }
}
record Point(int x, int y) { }
`,
    [
      '0 2-14 class A',
      '1 4-6 method A',
      '1 8-11 method map',
      '1 12-12 method paint',
      '1 13-13 enum Kind',
      '0 15-15 record Point',
    ],
  ],
  [
    'a.cpp',
    `#include <x>
#define LOOP(x) \\
  while (x) {
namespace a {
template <typename T> class Box : public Base {
 public:
  explicit Box(T x) : x_{x}, y_(1) {
    run();
  }
  ~Box() {}
  int size() const;
};
}
struct point { int x; };
enum class Colour { red };
static int
add(int a, int b)
{
  return a + b;
}
int a::Box::size() const { return '{'; }
int proto(int);
`,
    [
      '0 4-13 namespace a',
      '1 5-12 class Box',
      '2 7-9 function Box',
      '2 10-10 function ~Box',
      '0 14-14 struct point',
      '0 15-15 enum Colour',
      '0 17-20 function add',
      '0 21-21 function a::Box::size',
    ],
  ],
];

test.each(CASES)('the functions and classes of %s are listed with their lines', (path, code, expected) => {
  expect(outline(path, code)).toEqual(expected);
});

test('shows the language, the lines and what lies in what', async () => {
  await using dir = await tempDir();
  const context = toolCall({ workspace: dir.path });
  const read = async (path: string) =>
    (await runTool(codeStructureTool, JSON.stringify({ path }), context, { timeoutMs: 10_000 })).output;
  await writeFile(join(dir.path, 'a.js'), 'class A {\r\n  run() {\r\n  }\r\n}\r\n');
  expect(await read('a.js')).toBe('JavaScript, 4 lines\n1-4 class A\n  2-3 method run');
  await writeFile(join(dir.path, 'b.py'), '');
  expect(await read('b.py')).toContain('(no function or class was found)');
  expect(await read('a.txt')).toContain('Error: only files of TypeScript');
  expect(await read('gone.ts')).toMatch(/^Error: /);
  expect(await read('../a.ts')).toMatch(/^Error: /);
  await symlink('/etc/passwd', join(dir.path, 'link.ts'));
  expect(await read('link.ts')).toMatch(/^Error: .*symbolic link/);
  await writeFile(join(dir.path, 'big.ts'), 'x'.repeat(1024 ** 2 + 1));
  expect(await read('big.ts')).toBe('Error: "big.ts" is larger than 1 MiB');
  await writeFile(join(dir.path, 'binary.c'), 'int\0main');
  expect(await read('binary.c')).toContain('is a binary file');
  await writeFile(join(dir.path, 'many.py'), 'def f(): pass\n'.repeat(1_200));
  expect(await read('many.py')).toContain('[200 more not shown]');
});

test('A45 a quarter of a megabyte made to keep the reader busy takes less than a second', () => {
  const parts = [
    '{',
    '(',
    '}',
    'class a {\n',
    'class a {',
    'f(',
    'f(a) {\n',
    'a = (\n',
    "'",
    '"',
    '`',
    '/',
    '/*',
    '//',
    '\\\n#',
    'fn a',
    'def a():\n ',
    'r#',
    ' ',
    '\n',
    "r'",
    'template <',
    'a::',
    'const a = ',
    '::~',
    '=/[',
    `class a {\n${'a'.repeat(990)}\n`,
    `class a {\n${'$::'.repeat(330)}\n`,
    `function${' '.repeat(990)}(\n`,
    `impl${' '.repeat(850)}${'x'.repeat(140)}\n`,
  ];
  for (const path of ['a.ts', 'a.py', 'a.rs', 'a.cpp']) {
    for (const part of parts) {
      const code = part.repeat(1024 ** 2 / 4 / part.length);
      expect(
        leastCpuMs(1_000, () => outline(path, code)),
        `${path} ${JSON.stringify(part)}`,
      ).toBeLessThan(1_000);
    }
  }
}, 120_000);

test('A45 a line of many words that stand before a function of Rust is read at once', () => {
  const code = `${'extern  '.repeat(28)}x`;
  expect(leastCpuMs(300, () => outline('a.rs', code))).toBeLessThan(300);
});
