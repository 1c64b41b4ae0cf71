# Every route of the contacts server answers right, and a short load agrees with expected.tsv.
require "nokogiri"
require_relative "server"

DAV = { "d" => "DAV:", "c" => "urn:ietf:params:xml:ns:carddav" }.freeze

def get(http, path, status)
  http.get(path).tap { |answer| check_equal("status of #{path}", status, answer.code) }
end

def propfind(http, properties)
  request = Propfind.new("/")
  request.body = %(<d:propfind xmlns:d="DAV:" xmlns:c="#{DAV["c"]}"><d:prop>#{properties}</d:prop></d:propfind>)
  answer = http.request(request)
  check_equal("status of PROPFIND", "207", answer.code)
  Nokogiri::XML(answer.body) { |config| config.strict.huge }
end

def texts(document, path) = document.xpath(path, DAV).map(&:text)

def check_propfind(http, book)
  versions = propfind(http, "<d:getetag/><d:getcontenttype/>")
  check_equal("cards in PROPFIND", 600, texts(versions, "//d:response/d:href").uniq.size)
  check_equal("versions in PROPFIND", 600, texts(versions, "//d:getetag").uniq.size)
  check_equal("types in PROPFIND", ["text/vcard; charset=utf-8"], texts(versions, "//d:getcontenttype").uniq)
  check_equal("cards nobody asked for", [], texts(versions, "//c:address-data"))

  cards = texts(propfind(http, "<d:getetag/><c:address-data/>"), "//c:address-data")
  check_equal("cards in a full PROPFIND", 600, cards.size)
  check_equal("the first card in a full PROPFIND", File.read("#{book}/c0000.vcf", mode: "rb", encoding: "UTF-8"), cards[0])
end

def check_pages(http)
  check_equal("rows of /contacts", 600, get(http, "/contacts", "200").body.scan("<tr><td>").size)
  check_equal("photos in /contacts", 120, get(http, "/contacts", "200").body.scan('data-bytes="80000"').size)
  check("the dashboard counts", get(http, "/", "200").body.include?("600 contacts, 120 photos (9600000 bytes)"))

  found = get(http, "/search?q=m%C3%BCller", "200").body.force_encoding("UTF-8").scan(%r{vcf">([^<]+)<}).flatten
  check("search found somebody", found.size > 5)
  check_equal("search found others", [], found.reject { |name| name.end_with?("Müller") })
  check("search for nobody", get(http, "/search?q=nobody+at+all", "200").body.include?("<p>0 contacts</p>"))
end

def check_cards(http, book)
  card = get(http, "/cards/c0123.vcf", "200")
  check_equal("one card", File.binread("#{book}/c0123.vcf"), card.body.b)
  check("its version", card["etag"].match?(/\A"\h{32}"\z/))
  get(http, "/cards/c9999.vcf", "404")
  get(http, "/cards/..%2Fconfig.vcf", "404")
  get(http, "/nothing", "404")
end

with_book do |book|
  with_server(book) do |port|
    Net::HTTP.start("127.0.0.1", port, read_timeout: 60) do |http|
      check_propfind(http, book)
      check_pages(http)
      check_cards(http, book)
    end
    status, output, errors = load("--full", "--turns", "1", "127.0.0.1:#{port}")
    check_equal("the load's status (#{errors})", 0, status)
    check("the load's line: #{output}", output.match?(/\A10 requests, 44693201 bytes, [\d.]+ s\n\z/))
  end
end
puts "every route answered right"
