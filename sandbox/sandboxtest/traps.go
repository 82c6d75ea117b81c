package sandboxtest

// Trap is what a command can leave in a workspace for whoever reads it
// afterwards. What is tested is the reader: the product's own.
//
// The scripts know OUT, a directory of the host with a file "secret" and a git
// repository "repo" that holds it, and MARK, a file of the host that does not
// exist and whose appearing says that something of the trap has been run.
type Trap struct {
	Name  string
	Tries string
	// Script makes it, inside, in the root of a git work tree that has
	// README.md and src/a.txt.
	Script string
	// Live is a script that goes on inside while the workspace is read.
	Live string
	// Naive is the control: what people do in a work tree. It prints GOT, or
	// makes MARK, when it is caught.
	Naive string
	// Paths are asked for by name.
	Paths []string
	// Slow traps are left out with -short.
	Slow bool
}

// WorkspaceTraps are all of them.
func WorkspaceTraps() []Trap {
	return append(append(linkTraps(), shapeTraps()...), gitTraps()...)
}

// linkTraps lead elsewhere.
func linkTraps() []Trap {
	const read = `grep -q outside `
	return []Trap{
		{Name: "link out", Tries: "a symbolic link to a file of the host", Script: `ln -s "$OUT"/secret link`, Naive: read + `link && echo GOT`, Paths: []string{"link"}},
		{Name: "link for a directory", Tries: "a symbolic link to a directory of the host", Script: `ln -s "$OUT" dir`, Naive: read + `dir/secret && echo GOT`, Paths: []string{"dir/secret", "dir"}},
		{Name: "link for a tracked file", Tries: "README.md becomes a link", Script: `ln -sf "$OUT"/secret README.md`, Naive: read + `README.md && echo GOT`, Paths: []string{"README.md"}},
		{Name: "link for a tracked directory", Tries: "src becomes a link", Script: `rm -r src && ln -s "$OUT" src`, Naive: read + `src/secret && echo GOT`, Paths: []string{"src/secret", "src/a.txt"}},
		{Name: "chain of links", Tries: "a link to a link to ../", Script: `mkdir -p a/b && ln -s ../../../../../../../../.. a/b/up && ln -s a/b/up up && ln -s "up$OUT/secret" chain`, Naive: read + `chain && echo GOT`, Paths: []string{"chain", "up/etc/passwd"}},
		{Name: "link to the reader", Tries: "a link to /proc/self/environ", Script: `ln -s /proc/self/environ env`, Naive: `grep -q PATH env && echo GOT`, Paths: []string{"env"}},
		{Name: "loop", Tries: "links that lead to each other", Script: `ln -s l2 l1 && ln -s l1 l2 && ln -s . self`, Naive: `cat l1 2>/dev/null || echo GOT`, Paths: []string{"l1", "self/self/self/README.md"}},
		{Name: "hard link", Tries: "two names for one tracked file", Script: `ln README.md twin`, Naive: `echo changed > twin; grep -q changed README.md && echo GOT`, Paths: []string{"twin", "README.md"}},
		{Name: "change while it is read", Tries: "a directory becomes a link and back, again and again", Script: `mkdir flip`,
			Live:  `mkdir -p d1 && echo harmless > d1/secret; while :; do ln -sfn "$OUT" flip.new; rm -rf flip; mv -T flip.new flip; rm -f flip; mkdir flip; echo harmless > flip/secret; done`,
			Naive: `i=0; while [ $i -lt 3000 ]; do grep -qs outside flip/secret && echo GOT && break; i=$((i+1)); done`, Paths: []string{"flip/secret"}},
	}
}

// shapeTraps hang or burst.
func shapeTraps() []Trap {
	const fifo = `timeout 1 cat `
	return []Trap{
		{Name: "pipe", Tries: "a FIFO that nobody writes", Script: `mkfifo pipe`, Naive: fifo + `pipe; test $? = 124 && echo GOT`, Paths: []string{"pipe"}},
		{Name: "pipe for a tracked file", Tries: "README.md becomes a FIFO", Script: `rm README.md && mkfifo README.md`, Naive: fifo + `README.md; test $? = 124 && echo GOT`, Paths: []string{"README.md"}},
		{Name: "pipe for the rules", Tries: ".gitignore becomes a FIFO", Script: `mkfifo .gitignore`, Naive: `timeout 2 git status >/dev/null; test $? = 124 && echo GOT`, Paths: []string{".gitignore"}},
		{Name: "socket", Tries: "a unix socket", Script: `"$ATTACK" listen sock`, Naive: `cat sock 2>/dev/null || echo GOT`, Paths: []string{"sock"}},
		{Name: "file with a hole", Tries: "3 GB without content", Script: `truncate -s 3G hole`, Naive: `test "$(wc -c < hole)" -gt 1000000000 && echo GOT`, Paths: []string{"hole"}},
		{Name: "large file", Tries: "150 MB in one line", Script: `head -c 150000000 /dev/zero | tr '\0' x > large`, Naive: `test "$(wc -c < large)" -gt 100000000 && echo GOT`, Paths: []string{"large"}},
		{Name: "many files", Tries: "100,000 files in one directory", Script: `mkdir many && cd many && seq 100000 | xargs touch`, Naive: `test "$(ls many | wc -l)" -ge 100000 && echo GOT`, Slow: true},
		{Name: "deep directories", Tries: "2,000 directories in each other", Script: `"$ATTACK" deep 2000`,
			Naive: `p=.; i=0; while [ $i -lt 2000 ]; do p=$p/dddd; i=$((i+1)); done; cat $p/leaf 2>/dev/null || echo GOT`},
		{Name: "names that are no text", Tries: "invalid UTF-8, line ends, escape sequences and dashes in names", Script: `touch -- "$(printf 'bad\377\376')" "$(printf 'line\nend')" "$(printf 'esc\033[2J')" ./-rf '--exec=x' "$(printf 'a\\b')"`,
			Naive: `ls | LC_ALL=C grep -q "$(printf '\033')" && echo GOT`},
		{Name: "set-uid file", Tries: "a program with the bits of root", Script: `cp /bin/true tool && chmod 6755 tool`, Naive: `cp -p tool copy && test -u copy && echo GOT`, Paths: []string{"tool"}},
		{Name: "closed directory", Tries: "directories without permissions", Script: `mkdir -p shut/in/it && echo x > shut/in/it/f && chmod 0 shut/in/it shut/in shut`, Naive: `rm -rf shut 2>/dev/null || echo GOT`, Paths: []string{"shut/in/it/f"}},
	}
}

// gitTraps are what git would run or read.
func gitTraps() []Trap {
	const status = `git status >/dev/null 2>&1`
	return []Trap{
		{Name: "file monitor", Tries: "core.fsmonitor in .git/config", Script: `git config core.fsmonitor "touch $MARK; :"`, Naive: status},
		{Name: "included configuration", Tries: "include.path in .git/config", Script: `git config -f evil core.fsmonitor "touch $MARK; :" && git config include.path ../evil`, Naive: status},
		{Name: "hooks", Tries: "hooks in .git/hooks", Script: `for h in pre-commit post-commit post-checkout post-index-change pre-push reference-transaction; do printf '#!/bin/sh\ntouch %s\n' "$MARK" > .git/hooks/$h; chmod +x .git/hooks/$h; done`, Naive: `git commit --allow-empty -m x >/dev/null 2>&1`},
		{Name: "directory of hooks", Tries: "core.hooksPath", Script: `mkdir hooks && printf '#!/bin/sh\ntouch %s\n' "$MARK" > hooks/pre-commit && chmod +x hooks/pre-commit && git config core.hooksPath hooks`, Naive: `git commit --allow-empty -m x >/dev/null 2>&1`},
		{Name: "ssh command", Tries: "core.sshCommand and a remote", Script: `git config core.sshCommand "touch $MARK; false" && git config remote.origin.url ssh://host.invalid/x`, Naive: `git fetch origin >/dev/null 2>&1`},
		{Name: "text conversion", Tries: "a textconv driver for *.md", Script: `echo '*.md diff=evil' > .gitattributes && git config diff.evil.textconv "touch $MARK; cat" && echo more >> README.md`, Naive: `git diff >/dev/null 2>&1`},
		{Name: "external diff", Tries: "diff.external", Script: `git config diff.external "touch $MARK; true" && echo more >> README.md`, Naive: `git diff >/dev/null 2>&1`},
		{Name: "filter", Tries: "a clean filter for all files", Script: `echo '* filter=evil' > .gitattributes && git config filter.evil.clean "touch $MARK; cat" && echo more >> README.md`, Naive: `git add -A >/dev/null 2>&1`},
		{Name: "signing program", Tries: "gpg.program and commit.gpgsign", Script: `git config commit.gpgsign true && git config gpg.program "$(printf '#!/bin/sh\ntouch %s\nexit 1\n' "$MARK" > sign; chmod +x sign; pwd)/sign" && git config gpg.program ./sign`, Naive: `git commit --allow-empty -m x >/dev/null 2>&1`},
		{Name: "pager", Tries: "core.pager", Script: `git config core.pager "touch $MARK; cat" && git config pager.status true`, Naive: `GIT_PAGER_IN_USE=1 script -qec 'git status' /dev/null >/dev/null 2>&1`},
		{Name: "gitfile", Tries: ".git becomes a file that names another directory", Script: `mv .git real && echo 'gitdir: real' > .git && git config core.fsmonitor "touch $MARK; :"`, Naive: status},
		{Name: "linked .git", Tries: ".git becomes a link", Script: `mv .git real && ln -s real .git && git config core.fsmonitor "touch $MARK; :"`, Naive: status},
		{Name: "submodule", Tries: "a submodule whose update is a command", Script: `printf '[submodule "x"]\n\tpath = x\n\turl = ./x\n' > .gitmodules && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),x && git clone -q . x && git -C x -c user.name=x -c user.email=x commit -q --allow-empty -m x && git config submodule.x.active true && git config submodule.x.url ./x && git config submodule.x.update "!touch $MARK"`, Naive: `git submodule update >/dev/null 2>&1`},
		{Name: "alternates", Tries: "objects of a repository of the host", Script: `mkdir -p .git/objects/info && echo "$OUT"/repo/.git/objects > .git/objects/info/alternates`, Naive: `git cat-file -p "$(git hash-object --stdin < "$OUT"/secret)" | grep -q outside && echo GOT`},
		{Name: "repository in a directory", Tries: "a bare repository with a configuration of its own", Script: `git init -q --bare sub && git -C sub config core.bare false && git -C sub config core.worktree . && git -C sub config core.fsmonitor "touch $MARK; :"`, Naive: `cd sub && ` + status},
	}
}
