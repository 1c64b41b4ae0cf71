module Contacts
  # One property line of a vCard: `TEL;TYPE=work:+49 30 123` is name TEL, one parameter, a value.
  Property = Struct.new(:name, :params, :value)

  Photo = Struct.new(:type, :bytes)

  # One contact, parsed from its text as RFC 6350 has it.
  class VCard
    attr_reader :id, :properties

    def initialize(path)
      @path = path
      @id = File.basename(path, ".vcf")
      @properties = VCard.unfold(text).map { |line| VCard.property(line) }
    end

    # A line that starts with a blank continues the line before it.
    def self.unfold(text)
      text.gsub("\r\n ", "").split("\r\n")
    end

    def self.property(line)
      head, value = line.split(":", 2)
      name, *params = head.split(";")
      Property.new(name.upcase, params.to_h { |param| param.split("=", 2) }, unescape(value))
    end

    def self.unescape(value)
      return value unless value.include?("\\")

      value.gsub(/\\([\\,;nN])/) { $1.downcase == "n" ? "\n" : $1 }
    end

    # The card as it lies on disk; whoever wants it reads it again, the object keeps what it means.
    def text
      File.read(@path, mode: "rb", encoding: "UTF-8")
    end

    def etag
      @etag ||= Digest::SHA256.hexdigest(text)[0, 32]
    end

    def [](name)
      properties.find { |property| property.name == name }&.value
    end

    def all(name)
      properties.select { |property| property.name == name }
    end

    def name = self["FN"]
    def company = self["ORG"]
    def note = self["NOTE"].to_s
    def categories = self["CATEGORIES"].to_s.split(",")
    def emails = all("EMAIL").map(&:value)
    def phones = all("TEL").map { |property| [property.params["TYPE"], property.value] }
    def birthday = self["BDAY"] && Date.strptime(self["BDAY"], "%Y%m%d")
    def revised = self["REV"]

    def address
      self["ADR"].to_s.split(";").reject(&:empty?).join(", ")
    end

    def photo
      property = all("PHOTO").first or return nil
      Photo.new(property.params["TYPE"], Base64.decode64(property.value))
    end
  end
end
