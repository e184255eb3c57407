//! Collections, and the reasons why documents are not read.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    (
        "the document is encrypted: save it without a password and add it again",
        "文档已加密：请去掉密码后重新添加",
    ),
    (
        "no text found: it seems to be scanned; add a version with recognised text",
        "没有找到文本：它似乎是扫描件；请添加经过文字识别的版本",
    ),
    ("no text found: the document is empty", "没有找到文本：文档是空的"),
    ("the document is too large: at most {} MiB are read", "文档太大：最多读取 {0} MiB"),
    (
        "the document is too large: at most {} pages and {} MiB of text are read",
        "文档太大：最多读取 {0} 页和 {1} MiB 文本",
    ),
    ("the document is too large: at most {} cells are read", "文档太大：最多读取 {0} 个单元格"),
    ("the document unpacks to more than {} MiB or {} files", "文档解压后超过 {0} MiB 或 {1} 个文件"),
    ("reading the document took longer than {} s", "读取文档的时间超过 {0} 秒"),
    ("reading the document needed too much memory", "读取文档所需的内存过多"),
    ("the document is broken: {}", "文档已损坏：{0}"),
    (
        "this is {}, which is not read; PDF, text, Markdown, HTML, docx, xlsx and source code are",
        "这是{0*}，无法读取；可以读取 PDF、文本、Markdown、HTML、docx、xlsx 和源代码",
    ),
    ("a file that is not text", "一个不是文本的文件"),
    ("an archive; unpack it and add the documents in it,", "一个压缩包（请解压后添加其中的文档）"),
    (
        "an Office document of the old kind; save it as .docx or .xlsx,",
        "一个旧格式的 Office 文档（请另存为 .docx 或 .xlsx）",
    ),
    ("a picture", "一张图片"),
    ("a picture, a sound or a film", "图片、声音或视频"),
    ("a packed file", "一个压缩文件"),
    ("a program", "一个程序"),
    ("a database", "一个数据库"),
    ("a sound", "一段声音"),
    ("documents cannot be read on this server: {}", "此服务器无法读取文档：{0}"),
    ("the document did not arrive whole; send it again", "文档没有完整送达；请重新发送"),
    (
        "the server was ended each time that it read this document; add it again to try once more",
        "每次读取此文档时服务器都被终止；请重新添加以再试一次",
    ),
    ("{} of {} pages could not be read", "{1} 页中有 {0} 页无法读取"),
    ("{} pages were too long and are cut off", "有 {0} 页过长，已被截断"),
    (
        "{}; its documents are kept: delete the collection if the folder is gone for good",
        "{0*}；其文档已保留：如果该文件夹确实不再存在，请删除文档集",
    ),
    (
        "{} of {} documents are missing from the folder; they are kept until you confirm that they are gone (sandbridge knowledge sync --remove-missing)",
        "文件夹中缺少 {1} 个文档中的 {0} 个；在你确认之前它们会被保留（sandbridge knowledge sync --remove-missing）",
    ),
    ("found by words only: this server has no embedder installed", "仅按词语搜索：此服务器未安装嵌入模型"),
    ("found by words only: the server's embedder does not answer", "仅按词语搜索：服务器的嵌入模型没有响应"),
    ("found by words only: the server's embedder cannot be used", "仅按词语搜索：服务器的嵌入模型无法使用"),
    (
        "found by words only: comparing the question with all passages took too long",
        "仅按词语搜索：将问题与所有段落比较耗时过长",
    ),
    (
        "some passages are found by words only, until the server has embedded them",
        "部分段落目前仅能按词语找到，待服务器完成向量化后即可按含义搜索",
    ),
    (
        "{} passages are found by words only, until the server has embedded them",
        "{0} 个段落目前仅能按词语找到，待服务器完成向量化后即可按含义搜索",
    ),
    (
        "{} passages are found by words only: the server's embedder refuses them",
        "{0} 个段落仅能按词语找到：服务器的嵌入模型拒绝处理它们",
    ),
    (
        "the folder has more than {} files: the newest are indexed, and none is removed",
        "该文件夹的文件超过 {0} 个：只索引最新的文件，且不移除任何文档",
    ),
    ("looking at the folder took too long", "查看文件夹的时间过长"),
    ("reading a file took too long", "读取文件的时间过长"),
];
