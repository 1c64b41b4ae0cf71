/*
 * The charts of the page: data from the report document, colours from the style sheet, drawing by Chart.js.
 * A text of the data reaches the page as text alone (textContent, or a canvas).
 */
"use strict";
(function () {
	var report = JSON.parse(document.getElementById("report").textContent);
	var MIB = 1048576;
	var COLOURS = 8;
	var charts = [];
	var sections = [
		["live", "live heap"],
		["held", "held by libebb"],
		["allocator", "libebb's own"],
		["objects", "binary and libraries"],
		["stacks", "stacks"],
		["other", "other mappings"],
		["not_accounted", "not accounted"],
	];

	function css(name) {
		return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
	}

	function mib(bytes) {
		return bytes === null || bytes === undefined ? null : bytes / MIB;
	}

	function shown(value, unit) {
		return value === null ? "-" : value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 1 }) + unit;
	}

	/* The same label has the same colour in every chart. */
	var labels = report.runs.map(function (run) { return run.label; }).filter(function (label, i, all) {
		return all.indexOf(label) === i;
	});
	function colour_of(label) {
		return "c" + (Math.max(0, labels.indexOf(label)) % COLOURS);
	}

	/* --- What Chart.js does not bring ------------------------------------------------------ */

	/* Least to most of each bar, from `ranges` of the data set. */
	var whiskers = {
		id: "whiskers",
		afterDatasetsDraw: function (chart) {
			var ctx = chart.ctx;
			var across = chart.options.indexAxis === "y";
			ctx.save();
			ctx.strokeStyle = css("ink");
			ctx.lineWidth = 1.5;
			chart.data.datasets.forEach(function (set, number) {
				if (!set.ranges || !chart.isDatasetVisible(number)) return;
				chart.getDatasetMeta(number).data.forEach(function (bar, i) {
					var range = set.ranges[i];
					if (!range || range[0] === range[1]) return;
					var scale = across ? chart.scales.x : chart.scales.y;
					var a = scale.getPixelForValue(range[0]);
					var b = scale.getPixelForValue(range[1]);
					var at = across ? bar.y : bar.x;
					var cap = 4;
					ctx.beginPath();
					[[a, at, b, at], [a, at - cap, a, at + cap], [b, at - cap, b, at + cap]].forEach(function (l) {
						if (across) {
							ctx.moveTo(l[0], l[1]);
							ctx.lineTo(l[2], l[3]);
						} else {
							ctx.moveTo(l[1], l[0]);
							ctx.lineTo(l[3], l[2]);
						}
					});
					ctx.stroke();
				});
			});
			ctx.restore();
		},
	};

	/* Lines across the chart: [{axis, value, text, colour}] in options.lines. */
	var lines = {
		id: "lines",
		afterDatasetsDraw: function (chart) {
			var area = chart.chartArea;
			var ctx = chart.ctx;
			(chart.config.options.lines || []).forEach(function (line) {
				var at = chart.scales[line.axis].getPixelForValue(line.value);
				var across = line.axis === "y";
				if (across ? at < area.top || at > area.bottom : at < area.left || at > area.right) return;
				ctx.save();
				ctx.strokeStyle = ctx.fillStyle = css(line.colour);
				ctx.setLineDash([6, 4]);
				ctx.lineWidth = 1.5;
				ctx.beginPath();
				ctx.moveTo(across ? area.left : at, across ? at : area.top);
				ctx.lineTo(across ? area.right : at, across ? at : area.bottom);
				ctx.stroke();
				ctx.font = "12px system-ui, sans-serif";
				ctx.textAlign = across ? "right" : "center";
				ctx.fillText(line.text, across ? area.right - 4 : at, across ? at - 5 : area.top - 5);
				ctx.restore();
			});
		},
	};

	/* --- Parts ------------------------------------------------------------------------------ */

	function axis(title, more) {
		return Object.assign({
			title: { display: Boolean(title), text: title, color: css("dim") },
			grid: { color: css("line"), borderColor: css("line") },
			ticks: { color: css("dim"), maxRotation: 0, autoSkipPadding: 12 },
		}, more || {});
	}

	function options(scales, more) {
		return Object.assign({
			animation: false,
			maintainAspectRatio: false,
			responsive: true,
			layout: { padding: { top: more && more.lines && more.lines.length ? 16 : 0 } },
			scales: scales,
			plugins: { legend: { display: false }, tooltip: { mode: "nearest", intersect: false } },
		}, more || {});
	}

	/* Buttons that show and hide the data sets of a name; `names`: [[name, colour]]. */
	function legend(figure, chart, names, key) {
		var box = figure.querySelector(".legend");
		var hidden = figure.hidden_names || (figure.hidden_names = {});
		function apply() {
			chart.data.datasets.forEach(function (set, number) {
				chart.setDatasetVisibility(number, !hidden[set[key]]);
			});
			chart.update();
		}
		box.textContent = "";
		names.forEach(function (entry) {
			var button = document.createElement("button");
			var mark = document.createElement("i");
			button.type = "button";
			button.setAttribute("aria-pressed", String(!hidden[entry[0]]));
			mark.style.background = css(entry[1]);
			button.append(mark, document.createTextNode(entry[2] || entry[0]));
			button.addEventListener("click", function () {
				hidden[entry[0]] = !hidden[entry[0]];
				button.setAttribute("aria-pressed", String(!hidden[entry[0]]));
				apply();
			});
			box.append(button);
		});
		apply();
	}

	function draw(figure, config, names, key) {
		var chart = new Chart(figure.querySelector("canvas"), config);
		chart.figure = figure;
		charts.push(chart);
		if (names) legend(figure, chart, names, key);
	}

	function height(figure, rows) {
		figure.querySelector(".frame").style.height = Math.max(9, 4 + 2.6 * rows) + "rem";
	}

	function narrow() {
		return window.innerWidth < 640;
	}

	/* --- The charts ------------------------------------------------------------------------- */

	function comparison(figure, data) {
		var phases = [
			["boot_bytes", "boot"],
			["peak_bytes", "peak"],
			["resting_first_bytes", "rest " + data.resting_first_seconds + " s"],
			["resting_last_bytes", "rest " + data.resting_last_seconds + " s"],
		].filter(function (phase) {
			return data.groups.some(function (group) { return group[phase[0]]; });
		});
		var names = [];
		var sets = data.groups.map(function (group) {
			var name = group.label + (group.generation ? ", " + group.generation : "");
			var colour = colour_of(name);
			names.push([name, colour, name + ", " + group.runs + (group.runs === 1 ? " run" : " runs")]);
			return {
				label: name,
				backgroundColor: css(colour),
				maxBarThickness: 64,
				data: phases.map(function (phase) { return group[phase[0]] ? group[phase[0]].median / MIB : null; }),
				ranges: phases.map(function (phase) {
					return group[phase[0]] && [group[phase[0]].least / MIB, group[phase[0]].most / MIB];
				}),
			};
		});
		var config = options({
			x: axis("", { grid: { display: false } }),
			y: axis("MiB", { beginAtZero: true }),
		});
		config.plugins.tooltip.callbacks = {
			label: function (item) {
				var range = item.dataset.ranges[item.dataIndex];
				return item.dataset.label + ": " + shown(item.parsed.y, " MiB") +
					(range && range[0] !== range[1] ? " (" + shown(range[0], "") + " to " + shown(range[1], "") + ")" : "");
			},
		};
		draw(figure, { type: "bar", data: { labels: phases.map(function (p) { return p[1]; }), datasets: sets },
			options: config, plugins: [whiskers] }, names, "label");
	}

	var shapes = { "boot": "triangle", "load end": "rect", "last": "rectRot" };

	function timeline(figure) {
		var names = [];
		var seen = {};
		var budgets = {};
		var sets = [];
		var many = report.runs.length > 6;
		var longest = Math.max.apply(null, [0.01].concat(report.runs.map(function (run) {
			return Math.max.apply(null, [0].concat(run.timeline.slice(-1).map(function (p) { return p[0]; }),
				run.marks.map(function (m) { return m.at_seconds; })));
		})));
		report.runs.forEach(function (run) {
			var colour = colour_of(run.label);
			if (!seen[run.label]) names.push([run.label, colour]);
			seen[run.label] = true;
			if (run.budget_bytes) budgets[run.budget_bytes] = true;
			sets.push({
				name: run.label,
				label: run.label,
				data: run.timeline.map(function (p) { return { x: p[0], y: p[1] / MIB }; }),
				borderColor: css(colour) + (many ? "aa" : ""),
				borderWidth: many ? 1.2 : 2,
				pointRadius: 0,
				pointHitRadius: 6,
				showLine: true,
				stepped: "after",
			});
			sets.push({
				name: run.label,
				label: run.label,
				marks: run.marks,
				data: run.marks.map(function (m) { return { x: m.at_seconds, y: m.bytes / MIB }; }),
				pointStyle: run.marks.map(function (m) { return shapes[m.name] || "circle"; }),
				backgroundColor: css(colour),
				borderColor: css("card"),
				borderWidth: 1,
				pointRadius: many ? 4 : 6,
				showLine: false,
			});
		});
		var config = options({
			x: axis("seconds since the start", { type: "linear", min: 0, max: longest }),
			y: axis("MiB", { beginAtZero: true }),
		}, {
			lines: Object.keys(budgets).map(function (bytes) {
				return { axis: "y", value: bytes / MIB, text: "budget " + shown(bytes / MIB, " MiB"), colour: "bad" };
			}),
		});
		if (Object.keys(budgets).length)
			config.scales.y.suggestedMax = Math.max.apply(null, Object.keys(budgets).map(Number)) / MIB * 1.05;
		config.plugins.tooltip.callbacks = {
			title: function () { return ""; },
			label: function (item) {
				var mark = item.dataset.marks && item.dataset.marks[item.dataIndex];
				return item.dataset.label + (mark ? ", " + mark.name : "") + ": " + shown(item.parsed.y, " MiB") +
					" after " + shown(item.parsed.x, " s");
			},
		};
		draw(figure, { type: "scatter", data: { datasets: sets }, options: config, plugins: [lines] }, names, "name");
		var key = figure.querySelector(".legend");
		[["boot", "▲"], ["load end", "■"], ["rest", "●"]].forEach(function (entry) {
			var text = document.createElement("span");
			text.className = "dim";
			text.textContent = entry[1] + " " + entry[0];
			key.append(text);
		});
	}

	/* Bars of accounts: `bars` is [[name, accounts]]. */
	function stack(figure, bars) {
		var names = sections.filter(function (section) {
			return bars.some(function (bar) {
				return bar[1].rows.some(function (row) { return row.section === section[0]; });
			});
		}).map(function (section) { return [section[0], section[0], section[1]]; });
		var sets = [];
		var least = 0.01 * Math.max.apply(null, bars.map(function (bar) { return bar[1].rss_bytes || 0; }));
		sections.forEach(function (section) {
			var accounts = {};
			bars.forEach(function (bar, number) {
				bar[1].rows.forEach(function (row) {
					if (row.section !== section[0]) return;
					accounts[row.name] = accounts[row.name] || bars.map(function () { return 0; });
					accounts[row.name][number] += row.bytes;
				});
			});
			var order = Object.keys(accounts).sort(function (a, b) {
				return Math.max.apply(null, accounts[b]) - Math.max.apply(null, accounts[a]);
			});
			/* Slivers are one. */
			var small = order.filter(function (name) { return Math.max.apply(null, accounts[name].map(Math.abs)) < least; });
			if (small.length > 1) {
				order = order.filter(function (name) { return small.indexOf(name) < 0; }).concat(small.length + " others");
				accounts[small.length + " others"] = bars.map(function (bar, i) {
					return small.reduce(function (sum, name) { return sum + accounts[name][i]; }, 0);
				});
			}
			order.forEach(function (name) {
				sets.push({
					section: section[0],
					label: name,
					data: accounts[name].map(mib),
					backgroundColor: css(section[0]),
					borderColor: css("card"),
					borderWidth: { right: 1 },
					maxBarThickness: 48,
				});
			});
		});
		var config = options({
			x: axis("MiB", { stacked: true }),
			y: axis("", { stacked: true, grid: { display: false } }),
		}, { indexAxis: "y" });
		config.plugins.tooltip.callbacks = {
			label: function (item) { return item.dataset.label + ": " + shown(item.parsed.x, " MiB"); },
		};
		height(figure, bars.length);
		draw(figure, { type: "bar", data: { labels: bars.map(function (bar) { return bar[0]; }), datasets: sets },
			options: config }, names, "section");
	}

	/* Rows that differ in nothing but the rate, by name, ascending. */
	function groups_of(rows) {
		var groups = {};
		rows.forEach(function (row) {
			var name = [row.sweep, row.event_bytes === null ? null : row.event_bytes + " bytes",
				row.connections === null ? null : row.connections + " connections"].filter(function (part, i) {
				return part !== null && rows.some(function (other) {
					return [other.sweep, other.event_bytes, other.connections][i] !== [row.sweep, row.event_bytes, row.connections][i];
				});
			}).join(", ");
			(groups[name] = groups[name] || []).push(row);
		});
		Object.keys(groups).forEach(function (name) {
			groups[name].sort(function (a, b) { return a.rate - b.rate; });
		});
		return groups;
	}

	/* `kinds`: [[key, word, colour or null, unit, divisor, more]]; lines of several groups have the groups' colours. */
	function rows_chart(figure, rows, kinds, scales) {
		var groups = groups_of(rows);
		var many = Object.keys(groups).length > 1;
		var names = [];
		var sets = [];
		Object.keys(groups).forEach(function (group, number) {
			kinds.forEach(function (kind) {
				var colour = many ? "c" + (number % COLOURS) : kind[2];
				var name = many ? group + ": " + kind[1] : kind[1];
				var points = groups[group].filter(function (row) { return row[kind[0]] !== null && row.rate !== null; });
				if (!points.length) return;
				names.push([name, colour]);
				sets.push(Object.assign({
					label: name,
					unit: kind[3],
					data: points.map(function (row) { return { x: row.rate, y: row[kind[0]] / kind[4] }; }),
					borderColor: css(colour),
					backgroundColor: css(colour),
					borderWidth: 2,
					showLine: true,
					pointRadius: points.map(function (row) { return row.knee ? 8 : 3.5; }),
					pointStyle: points.map(function (row) { return row.knee ? "rectRot" : "circle"; }),
				}, kind[5] || {}));
			});
		});
		var knees = {};
		rows.forEach(function (row) { if (row.knee && !many) knees[row.rate] = true; });
		var config = options(scales, {
			lines: Object.keys(knees).map(function (rate) {
				return { axis: "x", value: Number(rate), text: "knee", colour: "bad" };
			}),
		});
		config.plugins.tooltip.callbacks = {
			title: function () { return ""; },
			label: function (item) {
				return item.dataset.label + ": " + shown(item.parsed.y, item.dataset.unit) + " at " + shown(item.parsed.x, "/s");
			},
		};
		draw(figure, { type: "scatter", data: { datasets: sets }, options: config, plugins: [lines] }, names, "label");
	}

	function size_memory(figure, data) {
		rows_chart(figure, data.rows, [
			["peak_bytes", "peak", "c1", " MiB", MIB],
			["resting_bytes", "resting", "c0", " MiB", MIB, { borderDash: [3, 3] }],
		], { x: axis("requests a second", { beginAtZero: true }), y: axis("MiB", { beginAtZero: true }) });
	}

	function size_work(figure, data) {
		rows_chart(figure, data.rows, [
			["offered", "offered", "c7", "", 1, { borderDash: [4, 4] }],
			["served", "served", "c2", "", 1],
			["p99_seconds", "p99 latency", "c5", " ms", 0.001, { yAxisID: "y2" }],
		], {
			x: axis("requests a second", { beginAtZero: true }),
			y: axis("requests", { beginAtZero: true }),
			y2: axis("ms", { type: "logarithmic", position: "right", grid: { drawOnChartArea: false } }),
		});
	}

	function limits(figure, data) {
		var rows = data.limits.filter(function (row) { return row.most > 0 && row.measured !== null; });
		var config = options({
			x: axis("% of the limit", { beginAtZero: true, suggestedMax: 110 }),
			y: axis("", { grid: { display: false } }),
		}, { indexAxis: "y", lines: [{ axis: "x", value: 100, text: "limit", colour: "ink" }] });
		config.plugins.tooltip.callbacks = {
			label: function (item) { return shown(item.parsed.x, " % of the limit") + ", " + rows[item.dataIndex].kept; },
		};
		height(figure, rows.length);
		draw(figure, {
			type: "bar",
			data: {
				labels: rows.map(function (row) { return row.figure + (row.account ? " " + row.account : ""); }),
				datasets: [{
					label: "measured",
					data: rows.map(function (row) { return 100 * row.measured / row.most; }),
					backgroundColor: rows.map(function (row) { return css({ kept: "good", broken: "bad" }[row.kept] || "other"); }),
					maxBarThickness: 28,
				}],
			},
			options: config,
			plugins: [lines],
		});
	}

	/* --- All of them ------------------------------------------------------------------------ */

	var kinds = {
		"comparison": function (figure, i) { comparison(figure, report.comparisons[i]); },
		"timeline": timeline,
		"stack": function (figure, i) {
			var given = report.stacks[i];
			stack(figure, given.names.map(function (name, n) { return [name, report.runs[given.runs[n]].accounts]; }));
		},
		"verdict": function (figure, i) { stack(figure, [["RSS", report.results[i].verdict.accounts]]); },
		"size-memory": function (figure, i) { size_memory(figure, report.results[i]); },
		"size-work": function (figure, i) { size_work(figure, report.results[i]); },
		"limits": function (figure, i) { limits(figure, report.results[i]); },
	};

	function draw_all() {
		charts.splice(0).forEach(function (chart) { chart.destroy(); });
		Chart.defaults.font.family = "system-ui, sans-serif";
		Chart.defaults.font.size = narrow() ? 11 : 12;
		document.querySelectorAll("figure[data-chart]").forEach(function (figure) {
			kinds[figure.dataset.chart](figure, Number(figure.dataset.index));
		});
	}

	function paper(on) {
		document.documentElement.classList.toggle("paper", on);
		draw_all();
	}

	draw_all();
	window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw_all);
	window.addEventListener("beforeprint", function () { paper(true); });
	window.addEventListener("afterprint", function () { paper(false); });
})();
