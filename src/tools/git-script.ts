/**
 * For `sh`, with the directory to look at and the arguments of git: `./a/b` and what follows `git -C ./a/b`.
 * It begins in the workspace.
 *
 * Git reads the config of the repository as its first act, and dozens of keys there name a program: filters,
 * diff drivers, a monitor of files, a transport for objects that are missing. New versions add more. So none
 * of it is read. Git is given a common directory of our own (`GIT_COMMON_DIR`), which has a config that we
 * wrote and no hooks; refs, objects and the rest are linked into it or named beside it. An attribute such as
 * `filter=x` means nothing without its key. Of the branch that is checked out it is told the upstream, by
 * names checked as data: of a remote neither an address nor a program, so nothing can be asked of one.
 *
 * The repository is the nearest `.git` from the directory up to the workspace, never above and never a
 * directory that only looks like one (a bare repository is a few text files, which the model can write).
 */
export const GIT_SCRIPT = `
set -eu
root=$(pwd -P)
at=$1
shift
fail() { printf 'fatal: %s\\n' "$1" >&2; exit 128; }

# What is of the person, of the machine or of the environment is not read either.
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1
export GIT_ALLOW_PROTOCOL= GIT_PROTOCOL_FROM_USER=0 GIT_NO_LAZY_FETCH=1 GIT_TERMINAL_PROMPT=0 GIT_OPTIONAL_LOCKS=0
export GIT_PAGER=cat GIT_EDITOR=false GIT_ASKPASS=false GIT_SSH_COMMAND=false

# A directory of the workspace as it really is; a link must not lead out.
inside() {
  real=$(cd -- "$1" 2>/dev/null && pwd -P) || fail 'the repository is damaged: a directory of it is missing'
  case $real/ in "$root"/*) ;; *) fail 'the repository lies outside the workspace' ;; esac
}

tree=$at
while [ ! -e "$tree/.git" ] && [ ! -L "$tree/.git" ]; do
  [ "$tree" != . ] || fail 'not a git repository, and nor is a directory above it'
  tree=\${tree%/*}
done
[ ! -L "$tree/.git" ] || fail '.git is a symbolic link, which tools do not follow'
inside "$tree"
tree=$real
dir=$tree/.git
if [ ! -d "$dir" ]; then
  # Of a linked worktree or a submodule.
  line=
  IFS= read -r line <"$dir" || [ -n "$line" ] || fail '.git is an empty file'
  case $line in
    'gitdir: /'*) dir=\${line#gitdir: } ;;
    'gitdir: '*) dir=$tree/\${line#gitdir: } ;;
    *) fail '.git names no repository' ;;
  esac
fi
inside "$dir"
dir=$real
common=$dir
if [ -f "$dir/commondir" ]; then
  line=
  IFS= read -r line <"$dir/commondir" || [ -n "$line" ] || fail 'the repository is damaged: commondir is empty'
  case $line in /*) common=$line ;; *) common=$dir/$line ;; esac
  inside "$common"
  common=$real
fi
[ -e "$dir/HEAD" ] && [ -d "$common/refs" ] && [ -d "$common/objects" ] || fail 'not a git repository'
inside "$common/objects"

# A sandbox may have no /tmp. Nothing that the model can write to lies in .git.
own=$(mktemp -d 2>/dev/null || mktemp -d "$dir/gatehouse.XXXXXX")
trap 'rm -rf -- "$own"' EXIT
export HOME="$own" XDG_CONFIG_HOME="$own"
for name in refs packed-refs reftable shallow logs info; do
  [ ! -e "$common/$name" ] || ln -s "$common/$name" "$own/$name"
done

# How objects, refs and files are stored: words alone, so that none can be the name of a program.
printf '[core]\\n\\tbare = false\\n\\trepositoryformatversion = 1\\n' >"$own/config"
if [ -f "$common/config" ]; then
  stored='^(extensions\\.(objectformat|refstorage)|core\\.(ignorecase|filemode|symlinks|autocrlf|eol))$'
  GIT_DIR=/dev/null git config --file "$common/config" --no-includes --get-regexp "$stored" >"$own/stored" || [ $? = 1 ] ||
    fail 'the config of the repository cannot be read'
  while read -r key value; do
    case $key in
      extensions.objectformat | extensions.refstorage | core.ignorecase | core.filemode | core.symlinks | core.autocrlf | core.eol) ;;
      *) continue ;;
    esac
    case $value in
      true | false | input | lf | crlf | native | sha1 | sha256 | files | reftable)
        printf '[%s]\\n\\t%s = %s\\n' "\${key%.*}" "\${key#*.}" "$value" >>"$own/config" ;;
    esac
  done <"$own/stored"
fi

export GIT_DIR="$dir" GIT_COMMON_DIR="$own" GIT_OBJECT_DIRECTORY="$common/objects" GIT_WORK_TREE="$tree"

value() { GIT_DIR=/dev/null git config --file "$common/config" --no-includes "$@"; }
is_name() { case $1 in '' | -* | *[!A-Za-z0-9._/@+#=-]*) return 1 ;; esac; }
upstream() {
  [ -f "$common/config" ] || return 0
  branch=$(git symbolic-ref -q HEAD) || return 0
  branch=\${branch#refs/heads/}
  is_name "$branch" || return 0
  remote=$(value --get "branch.$branch.remote") || return 0
  merge=$(value --get "branch.$branch.merge") || return 0
  case $merge in refs/heads/*) merge=\${merge#refs/heads/} ;; *) return 0 ;; esac
  is_name "$remote" && is_name "$merge" || return 0
  if [ "$remote" != . ]; then
    # Only where its branches are kept as every clone keeps them, so that no wrong one is named.
    kept=
    value --get-all "remote.$remote.fetch" >"$own/fetch" || return 0
    while IFS= read -r line; do
      case $line in "+refs/heads/*:refs/remotes/$remote/*" | "+refs/heads/$merge:refs/remotes/$remote/$merge") kept=$line ;; esac
    done <"$own/fetch"
    [ -n "$kept" ] || return 0
    printf '[remote "%s"]\\n\\tfetch = "%s"\\n' "$remote" "$kept" >>"$own/config"
  fi
  printf '[branch "%s"]\\n\\tremote = "%s"\\n\\tmerge = "refs/heads/%s"\\n' "$branch" "$remote" "$merge" >>"$own/config"
}
upstream
git -C "$at" "$@"
`;
