#!/bin/bash
# ghostscript: pages with fonts, shadings, patterns and images, to PDF and to PNG; every page's picture must be
# the one that it draws without us.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need gs

cat >"$SCRATCH/pages.ps" <<'END'
%!PS
/rnd { rand 10000 mod 10000 div } def
42 srand
1 1 5 {
	/page exch def
	/Times-Roman findfont 11 scalefont setfont
	1 1 40 { /row exch def
		40 800 row 18 mul sub moveto
		(Page ) show page 10 string cvs show (, row ) show row 10 string cvs show
		( of what the allocator must carry: ) show
		/Helvetica-Bold findfont 6 row 7 mod add scalefont setfont (Hamburgefonts 0123456789) show
		/Times-Italic findfont 11 scalefont setfont ( fi fl \256 \257) show
		/Times-Roman findfont 11 scalefont setfont
	} for
	1 1 300 { pop
		rnd rnd rnd setrgbcolor
		rnd 600 mul rnd 800 mul moveto rnd 600 mul rnd 800 mul rnd 600 mul rnd 800 mul rnd 600 mul rnd 800 mul curveto
		rnd 3 mul setlinewidth rnd 0.7 gt { closepath fill } { stroke } ifelse
	} for
	gsave 100 100 translate 400 300 scale
	<< /ShadingType 2 /ColorSpace /DeviceRGB /Coords [0 0 1 1] /Extend [true true]
	   /Function << /FunctionType 2 /Domain [0 1] /C0 [1 0 page 5 div] /C1 [0 1 0.3] /N 1.3 >> >>
	0.2 0.2 0.6 0.6 rectclip shfill grestore
	gsave 50 450 translate 200 200 scale
	64 64 8 [64 0 0 64 0 0] { 64 string 0 1 63 { 1 index exch rand 256 mod put } for } image
	grestore
	gsave 0 0 1 setrgbcolor
	<< /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 20 20] /XStep 20 /YStep 20
	   /PaintProc { pop 0.5 setgray 3 3 10 10 rectfill } >> matrix makepattern setpattern
	300 500 200 200 rectfill grestore
	showpage
} for
END
work() { # DIRECTORY LAUNCHER...
	local directory=$1
	shift
	mkdir "$directory"
	"$@" gs -q -dSAFER -dBATCH -dNOPAUSE -sDEVICE=png16m -r72 -dTextAlphaBits=4 -dGraphicsAlphaBits=4 \
		-o "$directory/direct%d.png" "$SCRATCH/pages.ps" >"$directory/gs.log" 2>&1
	"$@" gs -q -dSAFER -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -o "$directory/pages.pdf" "$SCRATCH/pages.ps" >>"$directory/gs.log" 2>&1
	"$@" gs -q -dSAFER -dBATCH -dNOPAUSE -sDEVICE=png16m -r60 -dNumRenderingThreads=2 -dBandBufferSpace=500000 \
		-dMaxBitmap=100000 -o "$directory/pdf%d.png" "$directory/pages.pdf" >>"$directory/gs.log" 2>&1
}
log=$SCRATCH/witness
work "$SCRATCH/reference" env || fail "ghostscript without us: $(tail -n 3 "$SCRATCH/reference/gs.log")"
work "$SCRATCH/preload" witnessed "$log" || fail "ghostscript: $(tail -n 3 "$SCRATCH/preload/gs.log")"
count=0
for picture in "$SCRATCH"/reference/*.png; do
	[ "$(wc -c <"$picture")" -gt 20000 ] || fail "${picture##*/} is nearly empty"
	cmp "$picture" "$SCRATCH/preload/${picture##*/}" || fail "${picture##*/} is drawn differently"
	count=$((count + 1))
done
assert_equal "pictures" 10 "$count"
assert_witnessed "$log" gs 3
