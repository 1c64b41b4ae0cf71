// A small JSON service on node's http: the same protocol as threaded.py. `node node.js PORT`
'use strict';
const http = require('http');

function totals(events) {
	const users = {};
	for (const event of events) {
		const total = users[event.user] ||= { events: 0, amount: 0, pages: [] };
		total.events += 1;
		total.amount += event.amount;
		total.pages.push(event.page.split('/'));
	}
	return { count: events.length, users };
}

http.createServer((request, response) => {
	if (request.method !== 'POST') {
		response.end('ok\n');
		return;
	}
	const parts = [];
	request.on('data', (part) => parts.push(part));
	request.on('end', () => response.end(JSON.stringify(totals(JSON.parse(Buffer.concat(parts))))));
}).listen(Number(process.argv[2]), '127.0.0.1');
