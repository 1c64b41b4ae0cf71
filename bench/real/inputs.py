"""What the programs read: written from a fixed seed, the same bytes on every machine and in every run."""

import random

WORDS = [a + b + c for a in ("ba", "ke", "mo", "ri", "tu") for b in ("la", "ne", "so", "vi") for c in ("da", "gu", "po", "x")]


def sentence(rng, most):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, most)))


def sql(scale):
    """An sqlite3 script: many small rows, indices, joins, aggregates, deletes, a trigger, text functions."""
    rng = random.Random(11)
    lines = [
        "create table site (id integer primary key, name text unique, note text);",
        "create table visit (id integer primary key, site int, path text, agent text, ms int);",
        "create table total (site int primary key, n int default 0) without rowid;",
        "create index visit_site on visit (site, ms);",
        "create index visit_path on visit (path);",
        "create trigger count_visit after insert on visit begin"
        " insert into total values (new.site, 1) on conflict (site) do update set n = n + 1; end;",
    ]
    sites = max(10, int(400 * scale))
    for number in range(sites):
        lines.append(f"insert into site values ({number}, '{rng.choice(WORDS)}{number}', '{sentence(rng, 30)}');")
    for number in range(max(60, int(9000 * scale))):
        # Some rows alone, each its own statement and transaction; some many in one.
        rows = [
            f"(null, {rng.randrange(sites)}, '/{rng.choice(WORDS)}/{rng.choice(WORDS)}', '{sentence(rng, 9)}', {rng.randrange(5000)})"
            for _ in range(1 if number % 10 else 8)
        ]
        lines.append(f"insert into visit values {', '.join(rows)};")
        if number % 60 == 0:
            site = rng.randrange(sites)
            lines += [
                f"select path, count(*), avg(ms) from visit where site = {site} group by path order by 2 desc, 1 limit 3;",
                f"select s.name, v.path, v.agent from visit v join site s on s.id = v.site where v.path like '/{rng.choice(WORDS)}%'"
                f" and s.id < {site} order by v.ms desc, v.id limit 5;",
            ]
        if number % 1500 == 50:
            lines.append(f"delete from visit where ms % 17 = {number % 17};")
    lines += [
        "select s.name, t.n, sum(v.ms), group_concat(distinct substr(v.path, 1, 4)) from site s join visit v on v.site = s.id"
        " join total t on t.site = s.id group by s.id order by 3 desc, 1 limit 40;",
        "with recursive hop (n, text) as (select 1, 'x' union all select n + 1, text || n from hop where n < 300)"
        " select sum(length(text)) from hop;",
        "select upper(replace(agent, ' ', '_')), count(*) from visit group by 1 order by 2 desc, 1 limit 20;",
        "update visit set agent = agent || ' ' || path where id % 3 = 0;",
        "select count(*), sum(length(agent)) from visit;",
    ]
    return "\n".join(lines) + "\n"


C_HEAD = """typedef unsigned long size_type;
extern int strange(const char *, ...);
struct item { int key; double weight; char name[24]; struct item *next; };
"""
C_FUNCTION = """static const int table_{n}[] = {{ {table} }};
int work_{n}(struct item *items, int count, const char *text)
{{
	int sum = {a};
	struct item *found = 0;
	for (int i = 0; i < count; i++) {{
		switch ((items[i].key + i) % 7) {{
		case 0: sum += table_{n}[(unsigned)(i * {b}) % 40]; break;
		case 1: sum ^= items[i].key << (i % 13); break;
		case 2: items[i].weight *= 1.0 + {c} / 100.0; sum += (int)items[i].weight; break;
		case 3: for (const char *at = items[i].name; *at; at++) sum = sum * {d} + *at; break;
		case 4: if (!found || found->key < items[i].key) found = &items[i]; break;
		default: for (int j = i; j < count && j < i + 5; j++) sum += items[j].key * j + (int)(items[j].weight * {a}); break;
		}}
		for (struct item *at = items[i].next; at; at = at->next)
			sum += at->key == {b} ? strange("{n} %d %s", at->key, text) : table_{n}[(unsigned)at->key % 40];
	}}
	return found ? sum + found->key : text[0] == '{letter}' ? -sum : sum;
}}
"""


def c_source(scale):
    """C as the compiler meets it: many functions with loops, switches, floating point and calls."""
    rng = random.Random(7)
    parts = [C_HEAD]
    for number in range(max(2, int(36 * scale))):
        a, b, c, d = (rng.randrange(1, 99) for _ in range(4))
        table = ", ".join(str(rng.randrange(10**6)) for _ in range(40))
        parts.append(C_FUNCTION.format(n=number, table=table, a=a, b=b, c=c, d=d, letter=rng.choice("abcdef")))
    return "".join(parts)


PS_PAGE = """/page {page} def
/Times-Roman findfont 10 scalefont setfont
1 1 45 {{ /row exch def
	30 810 row 17 mul sub moveto
	(Page ) show page 10 string cvs show (, line ) show row 10 string cvs show ( {text} ) show
	/Helvetica-Bold findfont 6 row 7 mod add scalefont setfont (Hamburgefonts 0123456789) show
	/Times-Italic findfont 10 scalefont setfont ( fi fl \\256 \\257 {text}) show
	/Times-Roman findfont 10 scalefont setfont
}} for
1 1 400 {{ pop
	rnd rnd rnd setrgbcolor
	rnd 600 mul rnd 800 mul moveto rnd 600 mul rnd 800 mul rnd 600 mul rnd 800 mul rnd 600 mul rnd 800 mul curveto
	rnd 3 mul setlinewidth rnd 0.7 gt {{ closepath fill }} {{ stroke }} ifelse
}} for
gsave 100 100 translate 400 300 scale
<< /ShadingType 2 /ColorSpace /DeviceRGB /Coords [0 0 1 1] /Extend [true true]
   /Function << /FunctionType 2 /Domain [0 1] /C0 [1 0 0.{page}] /C1 [0 1 0.3] /N 1.3 >> >>
0.2 0.2 0.6 0.6 rectclip shfill grestore
gsave 50 450 translate 200 200 scale
64 64 8 [64 0 0 64 0 0] {{ 64 string 0 1 63 {{ 1 index exch rand 256 mod put }} for }} image
grestore
gsave << /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 20 20] /XStep 20 /YStep 20
   /PaintProc {{ pop 0.5 setgray 3 3 10 10 rectfill }} >> matrix makepattern setpattern
300 500 200 200 rectfill grestore
showpage
"""


def postscript(scale):
    """Pages with fonts, curves, a shading, an image and a pattern."""
    rng = random.Random(5)
    pages = [PS_PAGE.format(page=n, text=sentence(rng, 6)) for n in range(1, max(1, int(4 * scale)) + 1)]
    return "%!PS-Adobe-3.0\n/rnd { rand 10000 mod 10000 div } def\n42 srand\n" + "".join(pages)
