/** Documents for tests, in the formats that a reader of the server parses. */
import { crc32 } from "node:zlib";

/** A PDF with these lines on its pages. */
export function pdf(pages: string[][]): Buffer {
  const written = (line: string) => `(${line.replace(/[\\()]/g, "\\$&")}) Tj T*`;
  const contents = pages.map((lines) => `BT /F 10 Tf 12 TL 50 780 Td ${lines.map(written).join("\n")} ET`);
  const kids = pages.map((_, at) => `${4 + 2 * at} 0 R`).join(" ");
  const page = (at: number) => `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents ${5 + 2 * at} 0 R>>`;
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    `<</Type/Pages/Count ${pages.length}/Kids[${kids}]>>`,
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ...contents.flatMap((content, at) => [page(at), `<</Length ${content.length}>>\nstream\n${content}\nendstream`]),
  ];
  let file = "%PDF-1.7\n";
  const places = objects.map((object, at) => {
    const place = file.length;
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, "0")} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${places.join("")}`;
  // Each character is one byte: WinAnsi agrees with Latin-1 here.
  return Buffer.from(`${file}${table}trailer\n<</Size ${size}/Root 1 0 R>>\nstartxref\n${file.length}\n%%EOF\n`, "latin1");
}

/** A text document of Office Open XML; lines that begin with `# ` are headings. */
export function docx(lines: string[]): Buffer {
  const paragraph = (line: string) => {
    const heading = line.startsWith("# ") ? '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>' : "";
    return `<w:p>${heading}<w:r><w:t>${xml(line.replace(/^# /, ""))}</w:t></w:r></w:p>`;
  };
  return zip([["word/document.xml", `<w:document xmlns:w="w"><w:body>${lines.map(paragraph).join("")}</w:body></w:document>`]]);
}

/** A workbook with these sheets: names, and rows of cells. */
export function xlsx(sheets: [name: string, rows: string[][]][]): Buffer {
  const cell = (text: string) => `<c t="inlineStr"><is><t>${xml(text)}</t></is></c>`;
  const rows = (all: string[][]) => all.map((cells) => `<row>${cells.map(cell).join("")}</row>`).join("");
  const named = sheets.map(([name], at) => `<sheet name="${xml(name)}" sheetId="${at + 1}" r:id="r${at + 1}" xmlns:r="r"/>`);
  const leads = sheets.map((_, at) => `<Relationship Id="r${at + 1}" Target="worksheets/sheet${at + 1}.xml"/>`);
  return zip([
    ["xl/workbook.xml", `<workbook><sheets>${named.join("")}</sheets></workbook>`],
    ["xl/_rels/workbook.xml.rels", `<Relationships>${leads.join("")}</Relationships>`],
    ...sheets.map(([, all], at): [string, string] => [
      `xl/worksheets/sheet${at + 1}.xml`,
      `<worksheet><sheetData>${rows(all)}</sheetData></worksheet>`,
    ]),
  ]);
}

function xml(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");
}

/** An archive whose files are stored as they are. */
function zip(files: [name: string, text: string][]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of files) {
    const [path, content] = [Buffer.from(name), Buffer.from(text)];
    // Version, flags, method, time, date; checksum and sizes; length of the name, and of more.
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt32LE(crc32(content), 10);
    head.writeUInt32LE(content.length, 14);
    head.writeUInt32LE(content.length, 18);
    head.writeUInt16LE(path.length, 22);
    parts.push(Buffer.from("PK\x03\x04"), head, path, content);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.from("PK\x01\x02\x14\0"), head, place, path);
    offset += 4 + head.length + path.length + content.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, listed, Buffer.from("PK\x05\x06"), end]);
}
