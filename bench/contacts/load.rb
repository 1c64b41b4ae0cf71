#!/usr/bin/env ruby
# The load: a hundred requests, five at a time, the same mixed sequence each time.
#
# Usage: load.rb [--full] [--turns N] [--record] HOST:PORT
# (--turns: so many tens of requests instead.)
#
# Prints one line: requests, bytes, seconds. Exits 1 when any answer is wrong: each route's status,
# length and SHA-256 are in expected.tsv, which --record writes anew (look at the answers before
# you believe it). --full asks for the cards themselves in the sequence's PROPFINDs.
require "digest/sha2"
require "socket"
require "uri"

PARALLEL = 5
TURNS = 10
TIMEOUT_SECONDS = 120
EXPECTED = File.join(__dir__, "expected.tsv")

ETAGS = <<~XML
  <?xml version="1.0" encoding="utf-8"?>
  <d:propfind xmlns:d="DAV:"><d:prop><d:getetag/><d:getcontenttype/></d:prop></d:propfind>
XML
CARDS = <<~XML
  <?xml version="1.0" encoding="utf-8"?>
  <d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/><c:address-data/></d:prop></d:propfind>
XML

# name of the answer in expected.tsv, method, path, body
Request = Struct.new(:name, :method, :path, :body)
SEARCHES = ["boats", "müller", "kite works", "harbour chess"].freeze
SINGLE_CARDS = %w[c0000 c0123 c0255 c0599].freeze

def page(path) = Request.new("GET #{path}", "GET", path, "")

# Ten requests a turn; each turn asks for everything at least once.
def sequence(full, turns)
  propfind = full ? Request.new("PROPFIND / cards", "PROPFIND", "/", CARDS) : Request.new("PROPFIND /", "PROPFIND", "/", ETAGS)
  (0...turns).flat_map do |turn|
    search = page("/search?q=#{URI.encode_www_form_component(SEARCHES[turn % SEARCHES.size])}")
    card = page("/cards/#{SINGLE_CARDS[turn % SINGLE_CARDS.size]}.vcf")
    [propfind, page("/contacts"), search, page("/"), card, propfind, page("/contacts"), card, propfind, page("/")]
  end
end

# One connection a request, closed by the server, so that the answer ends where the stream ends.
def ask(host, port, request)
  socket = Socket.tcp(host, port, connect_timeout: TIMEOUT_SECONDS)
  socket.write("#{request.method} #{request.path} HTTP/1.1\r\nHost: #{host}:#{port}\r\n" \
               "Content-Length: #{request.body.bytesize}\r\nConnection: close\r\n\r\n#{request.body}")
  head, body = socket.read.split("\r\n\r\n", 2)
  [head.to_s[/\AHTTP\/1\.1 (\d+)/, 1], body.to_s.bytesize.to_s, Digest::SHA256.hexdigest(body.to_s)]
ensure
  socket&.close
end

def run(host, port, requests)
  queue = Queue.new(requests).close
  Array.new(PARALLEL) do
    Thread.new do
      answers = []
      while (request = queue.pop)
        answers << [request, ask(host, port, request)]
      end
      answers
    end
  end.flat_map(&:value)
end

def wrong(answers, expected)
  answers.reject { |request, answer| expected[request.name] == answer }.map do |request, answer|
    "#{request.name}: got #{answer.join(" ")}, expected #{expected.fetch(request.name, ["nothing"]).join(" ")}"
  end
end

Thread.report_on_exception = false
full = !ARGV.delete("--full").nil?
record = !ARGV.delete("--record").nil?
turns = (at = ARGV.index("--turns")) ? ARGV.slice!(at, 2)[1].to_i : TURNS
host, port = ARGV[0].to_s.split(":")
abort "usage: load.rb [--full] [--turns N] [--record] HOST:PORT" if port.nil? || turns < 1

begin
  if record
    names = (sequence(false, TURNS) + sequence(true, TURNS)).uniq
    File.write(EXPECTED, names.map { |request| [request.name, *ask(host, port, request)].join("\t") << "\n" }.join)
    exit
  end
  expected = File.readlines(EXPECTED, chomp: true).to_h { |line| name, *answer = line.split("\t"); [name, answer] }
  started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  answers = run(host, port, sequence(full, turns))
  seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
rescue SystemCallError, IOError => error
  abort "load.rb: the server at #{host}:#{port} broke off: #{error.message}"
end

puts format("%d requests, %d bytes, %.2f s", answers.size, answers.sum { |_, answer| answer[1].to_i }, seconds)
complaints = wrong(answers, expected).uniq
abort "load.rb: #{complaints.size} wrong answers\n#{complaints.join("\n")}" unless complaints.empty?
