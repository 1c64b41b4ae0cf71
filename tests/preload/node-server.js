// node-server.js: the HTTP server of node.sh. GET /h/<n>/<k> answers the SHA-256 of <n>, k times;
// POST /echo answers the SHA-256 of the body; every 50th GET is worked out in a worker thread, so that
// isolates come and go while the server runs.
'use strict';
const http = require('http');
const crypto = require('crypto');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

const digest = (data) => crypto.createHash('sha256').update(data).digest('hex');
const answer = (number, times) => digest(String(number)).repeat(times);

if (!isMainThread) {
	parentPort.postMessage(answer(workerData.number, workerData.times));
} else {
	let gets = 0;
	http.createServer((request, response) => {
		const [, verb, number, times] = request.url.split('/');
		if (request.method === 'POST' && verb === 'echo') {
			const parts = [];
			request.on('data', (part) => parts.push(part));
			request.on('end', () => response.end(digest(Buffer.concat(parts))));
		} else if (verb === 'h' && ++gets % 50 === 0) {
			const worker = new Worker(__filename, { workerData: { number: Number(number), times: Number(times) } });
			worker.once('message', (text) => response.end(text));
			worker.once('error', (error) => { response.statusCode = 500; response.end(String(error)); });
		} else if (verb === 'h') {
			response.end(answer(number, Number(times)));
		} else {
			response.statusCode = 404;
			response.end();
		}
	}).listen(Number(process.argv[2]), '127.0.0.1');
	process.on('SIGTERM', () => process.exit(0));
}
