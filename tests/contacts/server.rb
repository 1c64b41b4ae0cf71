# What the contacts tests share: a book in a scratch directory, a server over it on a free port, and
# checks that say what was expected. The server is stopped by its pid, whatever happens.
require "net/http"
require "open3"
require "rbconfig"
require "socket"
require "tmpdir"

CONTACTS = File.expand_path("../../bench/contacts", __dir__)
READY_SECONDS = 60

class Propfind < Net::HTTPRequest
  METHOD = "PROPFIND"
  REQUEST_HAS_BODY = true
  RESPONSE_HAS_BODY = true
end

def check(what, condition)
  return if condition

  warn "FAIL: #{what}"
  exit 1
end

def check_equal(what, expected, got)
  check("#{what}: expected #{expected.inspect}, got #{got.inspect}", expected == got)
end

def with_book
  Dir.mktmpdir("ebb-contacts") do |directory|
    book = File.join(directory, "book")
    system(RbConfig.ruby, File.join(CONTACTS, "generate.rb"), book) or abort "FAIL: generate.rb failed"
    yield book
  end
end

def free_port
  server = TCPServer.new("127.0.0.1", 0)
  server.addr[1].tap { server.close }
end

def with_server(book)
  port = free_port
  pid = spawn({ "CONTACTS_BOOK" => book, "LC_ALL" => "C" }, "puma", "-q", "-t", "5:5", "-w", "0",
              "-b", "tcp://127.0.0.1:#{port}", File.join(CONTACTS, "config.ru"), out: File::NULL)
  wait_ready(pid, port)
  yield port, pid
ensure
  stop(pid)
end

def wait_ready(pid, port)
  deadline = Time.now + READY_SECONDS
  begin
    Net::HTTP.get("127.0.0.1", "/up", port)
  rescue SystemCallError
    check("the server ended before it was ready", Process.wait(pid, Process::WNOHANG).nil?)
    check("the server was not ready in #{READY_SECONDS} s", Time.now < deadline)
    sleep 0.1
    retry
  end
end

# TERM, then KILL after ten seconds.
def stop(pid)
  Process.kill(:TERM, pid)
  100.times do
    return if Process.wait(pid, Process::WNOHANG)

    sleep 0.1
  end
  Process.kill(:KILL, pid)
  Process.wait(pid)
rescue Errno::ESRCH, Errno::ECHILD
  nil
end

# [exit status, stdout, stderr] of the load
def load(*arguments)
  output, errors, status = Open3.capture3({ "LC_ALL" => "C" }, RbConfig.ruby, File.join(CONTACTS, "load.rb"), *arguments)
  [status.exitstatus, output, errors]
end
