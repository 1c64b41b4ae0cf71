#!/usr/bin/env ruby
# Writes the contacts book: 600 vCards, 120 of them with an 80 KB photo. The same book each time.
#
# Usage: generate.rb DIRECTORY
#
# A directory that already holds a whole book is left as it is (the last file written, `complete`,
# says so), so that the demo can be started again without writing 14 MB.
require "base64"
require "fileutils"

CARDS = 600
PHOTO_EVERY = 5
PHOTO_BYTES = 80_000
VERSION = "contacts-book 1\n"

FIRST = %w[Ada Alan Barbara Claude Donald Edsger Frances Grace Hedy Ivan John Katherine Leslie Margaret
           Niklaus Ole Peter Radia Sophie Tony Ursula Vint Whitfield Xiaoyun Yukihiro Zoë].freeze
LAST = %w[Abel Brandt Çelik Dubois Eriksson Fischer García Hansen Ivanova Jansen Kowalski Lindqvist Müller
          Novák O'Brien Petrov Quist Rossi Šimić Tanaka Ueda Virtanen Weber Xu Yilmaz Zhang].freeze
COMPANIES = ["Northwind Boats", "Alder & Sons", "Blue Kiln", "Cartwright Tools", "Delta Bakery", "Elm Street Books",
             "Fern Optics", "Granite Press", "Harbour Radio", "Inkwell, Ltd", "Juniper Farm", "Kite Works"].freeze
STREETS = ["Mill Lane", "Station Road", "Harbour Street", "Old Market", "Bridge Street", "Church Walk"].freeze
CITIES = [["Aarhus", "8000"], ["Bergen", "5003"], ["Cork", "T12"], ["Dresden", "01067"], ["Espoo", "02100"],
          ["Florence", "50122"], ["Ghent", "9000"], ["Haarlem", "2011"]].freeze
CATEGORIES = %w[family friends work club school suppliers neighbours].freeze
WORDS = %w[met at the spring fair asked about boats prefers mail to calls owes us a book plays chess on Thursdays
           knows everybody in the harbour has two dogs sends cards in winter likes strong coffee].freeze

def escape(text) = text.gsub(/[\\,;]/) { |char| "\\#{char}" }

# RFC 6350 folds lines after 75 octets; the photo is what makes that matter.
def fold(line)
  return line if line.bytesize <= 75 || !line.ascii_only?

  [line[0, 75], *line[75..].scan(/.{1,74}/)].join("\r\n ")
end

def card(index, random)
  first = FIRST.sample(random: random)
  last = LAST.sample(random: random)
  city, code = CITIES.sample(random: random)
  mail = "#{first}.#{last}".downcase.gsub(/[^a-z.]/, "")
  lines = [
    "BEGIN:VCARD", "VERSION:3.0", format("UID:ebb-contacts-%04d", index),
    "N:#{escape(last)};#{escape(first)};;;", "FN:#{escape("#{first} #{last}")}",
    "ORG:#{escape(COMPANIES.sample(random: random))}",
    "EMAIL;TYPE=work:#{mail}#{index}@example.org", "EMAIL;TYPE=home:#{mail}@example.net",
    format("TEL;TYPE=work:+1 555 %04d", random.rand(10_000)), format("TEL;TYPE=cell:+1 555 %04d", random.rand(10_000)),
    "ADR;TYPE=home:;;#{random.rand(1..90)} #{STREETS.sample(random: random)};#{city};;#{code};",
    format("BDAY:%04d%02d%02d", random.rand(1940..2005), random.rand(1..12), random.rand(1..28)),
    "CATEGORIES:#{CATEGORIES.sample(2, random: random).join(",")}",
    "NOTE:#{Array.new(random.rand(6..40)) { WORDS.sample(random: random) }.join(" ")}",
    format("REV:2026%02d%02dT%06dZ", random.rand(1..11), random.rand(1..28), random.rand(60) * 100)
  ]
  lines << photo(random) if (index % PHOTO_EVERY).zero?
  (lines << "END:VCARD").map { |line| "#{fold(line)}\r\n" }.join
end

# A JPEG's bytes are near random; only its header is of interest to nobody here.
def photo(random)
  "PHOTO;ENCODING=b;TYPE=JPEG:#{Base64.strict_encode64("\xFF\xD8\xFF\xE0".b + random.bytes(PHOTO_BYTES - 4))}"
end

directory = ARGV[0] or abort "usage: generate.rb DIRECTORY"
complete = File.join(directory, "complete")
exit if File.file?(complete) && File.read(complete) == VERSION

begin
  FileUtils.mkdir_p(directory)
  Dir.glob(File.join(directory, "*.vcf")).each { |path| File.delete(path) }
  random = Random.new(600)
  CARDS.times { |index| File.binwrite(File.join(directory, format("c%04d.vcf", index)), card(index, random)) }
  File.write(complete, VERSION)
rescue SystemCallError => error
  abort "generate.rb: cannot write the contacts book: #{error.message}"
end
