/*
 * heap_svg_script.h: what makes the graph answer: style, controls and script of heap_svg.c.
 *
 * Owns: three string constants. The script reads each frame's place from data-x, data-w (pixels unzoomed) and data-d (depth),
 * and its name from the first line of its title. It asks nothing of the net.
 */
#ifndef EBBI_REPORT_HEAP_SVG_SCRIPT_H
#define EBBI_REPORT_HEAP_SVG_SCRIPT_H

#define HEAP_SVG_STYLE \
	"text{font:11px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1a1a1a}" \
	".t{font:bold 16px sans-serif}" \
	".f{cursor:pointer}.f rect{stroke:#fff;stroke-width:.6}.f text{pointer-events:none}" \
	".f:hover rect{stroke:#000;stroke-width:1}" \
	".up rect{opacity:.45}" \
	".hit rect{fill:#e0218a}.hit text{fill:#fff}" \
	"input{font:12px sans-serif;width:170px;box-sizing:border-box}" \
	"#r{cursor:pointer;text-decoration:underline;display:none}"

#define HEAP_SVG_CONTROLS \
	"<text id=\"r\" x=\"860\" y=\"24\">show all</text><text id=\"m\" x=\"930\" y=\"24\"> </text>\n" \
	"<foreignObject x=\"1015\" y=\"8\" width=\"176\" height=\"26\">" \
	"<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"q\" type=\"search\" placeholder=\"search functions\"/>" \
	"</foreignObject>\n"

#define HEAP_SVG_SCRIPT \
	"\n" \
	"var left=10,full=1180,letter=6.6,all=document.getElementById('r'),found=document.getElementById('m');\n" \
	"var line=document.getElementById('d'),query=document.getElementById('q');\n" \
	"var frames=Array.from(document.querySelectorAll('.f')).map(function(g){\n" \
	" var lines=g.querySelector('title').textContent.split('\\n');\n" \
	" return {g:g,x:+g.dataset.x,w:+g.dataset.w,d:+g.dataset.d,name:lines[0],about:lines.join('   '),\n" \
	"  rect:g.querySelector('rect'),text:g.querySelector('text')};});\n" \
	"function label(f,w){var n=Math.floor((w-6)/letter);\n" \
	" f.text.textContent=n<3?'':f.name.length<=n?f.name:f.name.slice(0,n-2)+'..';}\n" \
	"function zoom(to){var x0=to?to.x:left,w0=to?to.w:full;\n" \
	" all.style.display=to?'inline':'none';\n" \
	" frames.forEach(function(f){\n" \
	"  var above=to&&f.d<to.d&&f.x<=x0+.01&&f.x+f.w>=x0+w0-.01;\n" \
	"  var within=f.x>=x0-.01&&f.x+f.w<=x0+w0+.01&&(!to||f.d>=to.d);\n" \
	"  f.g.style.display=above||within?'':'none';\n" \
	"  f.g.classList.toggle('up',!!above);\n" \
	"  if(!above&&!within)return;\n" \
	"  var x=above?left:left+(f.x-x0)/w0*full,w=above?full:f.w/w0*full;\n" \
	"  f.rect.setAttribute('x',x);f.rect.setAttribute('width',Math.max(w,.3));\n" \
	"  f.text.setAttribute('x',x+3);label(f,w);});}\n" \
	"function search(){var q=query.value.toLowerCase(),sum=0,end=-1;\n" \
	" frames.forEach(function(f){\n" \
	"  f.hit=q!==''&&f.name.toLowerCase().indexOf(q)>=0;f.g.classList.toggle('hit',f.hit);});\n" \
	" frames.filter(function(f){return f.hit;}).sort(function(a,b){return a.x-b.x||b.w-a.w;})\n" \
	"  .forEach(function(f){if(f.x>=end-.01){sum+=f.w;end=f.x+f.w;}});\n" \
	" found.textContent=q===''?' ':'in '+(sum/full*100).toFixed(1)+' %';}\n" \
	"frames.forEach(function(f){\n" \
	" f.g.addEventListener('click',function(){zoom(f);});\n" \
	" f.g.addEventListener('mouseover',function(){line.textContent=f.about;});\n" \
	" f.g.addEventListener('mouseout',function(){line.textContent=' ';});});\n" \
	"all.addEventListener('click',function(){zoom(null);});\n" \
	"query.addEventListener('input',search);\n" \
	"document.addEventListener('keydown',function(e){\n" \
	" if(e.key==='Escape'){query.value='';search();zoom(null);}\n" \
	" else if(e.key==='/'&&document.activeElement!==query){query.focus();e.preventDefault();}});\n"

#endif
